"""A WSGI application that opens its limiter in the master, which goes on hitting in a thread."""
import os
import threading

from limiter import Limiter

limiter = Limiter(os.environ["STORE"])
# One byte a hit that was answered: appending is atomic over processes.
answered = os.open(os.environ["ANSWERED"], os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)


def hit(key):
    limiter.hit(key)
    os.write(answered, b".")


def keep_busy():
    while True:
        hit(b"master")


threading.Thread(target=keep_busy, daemon=True).start()


def application(environ, start_response):
    hit(environ["PATH_INFO"].encode())
    start_response("200 OK", [("Content-Length", "2"), ("Content-Type", "text/plain")])
    return [b"ok"]
