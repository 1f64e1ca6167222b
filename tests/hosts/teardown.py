"""An interpreter ends while a limiter is alive, in one of the ways that it may.

    teardown.py STORE MANNER
"""
import atexit
import gc
import sys
import threading

from limiter import Limiter

store, manner = sys.argv[1:]


class Closing(Limiter):
    def __del__(self):
        self.library.rl_close(self.handle)


def keep_hitting(limiter, has_begun):
    while True:
        limiter.hit()
        has_begun.set()


limiter = Closing(store) if manner in ("closes", "cycle") else Limiter(store)
limiter.hit()
if manner == "at_exit":
    atexit.register(limiter.hit)
elif manner == "cycle":
    # Freed late, when modules are gone already.
    sys.modules["a_cycle"] = limiter.itself = limiter
    gc.disable()
elif manner == "threads":
    for _ in range(3):
        begun = threading.Event()
        threading.Thread(target=keep_hitting, args=(limiter, begun), daemon=True).start()
        begun.wait()
elif manner == "raises":
    sys.exit(0)
