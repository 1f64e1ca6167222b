"""Python hosts that fork: a parent with a busy thread, workers that hit. Prints what was answered.

    hosts.py STORE fork|spawn|forkserver|pool|subprocess|posix_spawn|preexec_fn
"""
import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import threading

from limiter import Limiter

WORKERS, TASKS, HITS = 4, 12, 25
inherited = None


def work(store):
    """Hits with what was inherited, if this process was forked, and with a limiter of its own."""
    done = 0
    for limiter in [inherited, Limiter(store)]:
        if limiter is not None:
            for _ in range(HITS):
                limiter.hit()
                done += 1
    return done


def work_into(store, total):
    done = work(store)
    with total.get_lock():
        total.value += done


def by_processes(method, store):
    context = multiprocessing.get_context(method)
    total = context.Value("q", 0)
    for _ in range(TASKS // WORKERS):
        workers = [context.Process(target=work_into, args=(store, total)) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
            if worker.exitcode != 0:
                raise RuntimeError(f"a worker ended with {worker.exitcode}")
    return total.value


def by_pool(store):
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(WORKERS, mp_context=context) as pool:
        return sum(pool.map(work, [store] * TASKS, timeout=60))


def by_subprocess(store, **options):
    done = 0
    for _ in range(TASKS):
        command = [sys.executable, __file__, store, "worker"]
        done += int(subprocess.run(command, check=True, timeout=60, capture_output=True,
                                   **options).stdout)
    return done


def by_posix_spawn(store):
    done = 0
    for _ in range(TASKS):
        reader, writer = os.pipe()
        os.set_inheritable(writer, True)
        command = [sys.executable, __file__, store, "worker"]
        child = os.posix_spawn(sys.executable, command, os.environ,
                               file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1)])
        os.close(writer)
        with os.fdopen(reader) as output:
            done += int(output.read())
        if os.waitpid(child, 0)[1] != 0:
            raise RuntimeError("a spawned worker failed")
    return done


def main():
    global inherited
    store, how = sys.argv[1:]
    if how == "worker":
        print(work(store))
        return
    inherited = Limiter(store)
    stop, by_thread = threading.Event(), [0]

    def keep_busy():
        while not stop.is_set():
            inherited.hit(b"thread")
            by_thread[0] += 1

    thread = threading.Thread(target=keep_busy)
    thread.start()
    try:
        if how in ("fork", "spawn", "forkserver"):
            by_workers = by_processes(how, store)
        elif how == "pool":
            by_workers = by_pool(store)
        elif how == "posix_spawn":
            by_workers = by_posix_spawn(store)
        else:
            # With preexec_fn Python forks, and runs it there before exec.
            options = {"preexec_fn": inherited.hit} if how == "preexec_fn" else {}
            by_workers = by_subprocess(store, **options) + (TASKS if options else 0)
    finally:
        stop.set()
        thread.join()
    print(f"acknowledged={by_thread[0] + by_workers} by_thread={by_thread[0]} "
          f"by_workers={by_workers}")


if __name__ == "__main__":
    main()
