"""Hits until it is killed, and says so byte by byte in a file that survives it, as worker.c."""
import os
import sys

import ratelite

store, word = sys.argv[1:3]
said = os.open(word, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
limiter = ratelite.Limiter(store, "attack: 9007199254740991/366d; few: 500/366d",
                           busy_timeout_ms=20_000)
number = 0
while True:
    os.write(said, b"<")
    limiter.hit(f"k{number % 97}", rule="attack")
    os.write(said, b">")
    if limiter.hit("k0", rule="few").allowed:
        os.write(said, b"+")
    number += 1
