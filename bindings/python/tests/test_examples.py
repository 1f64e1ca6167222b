"""The examples, and every Python block of the README, run as they stand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import ROOT, run_python
from served import Server

BINDING = ROOT / "bindings/python"
README = (BINDING / "README.md").read_text(encoding="utf-8")

#: (heading, code), in order.
BLOCKS = [
    (re.findall(r"^##+ (.*)$", README[: match.start()], re.MULTILINE)[-1], match[1])
    for match in re.finditer(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
]
DJANGO = [code for heading, code in BLOCKS if heading == "Django"]


@pytest.mark.parametrize(
    "code",
    [code for heading, code in BLOCKS if heading != "Django"],
    ids=[heading for heading, _ in BLOCKS if heading != "Django"],
)
def test_the_readmes_code_runs(tmp_path: Path, code: str) -> None:
    done = run_python(code, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_readmes_django_project_runs(tmp_path: Path) -> None:
    settings, views = DJANGO
    names = {"ROOT_URLCONF": "urls", "ALLOWED_HOSTS": ["*"], "SECRET_KEY": "for tests"}
    (tmp_path / "settings.py").write_text(
        settings + "".join(f"\n{name} = {value!r}" for name, value in names.items())
    )
    (tmp_path / "urls.py").write_text(views)
    code = (
        "import os, sys; sys.path.insert(0, '')\n"
        "os.environ['DJANGO_SETTINGS_MODULE'] = 'settings'\n"
        "import django; django.setup()\n"
        "from django.test import Client\n"
        "import urls\n"
        "path = '/' + str(urls.urlpatterns[0].pattern)\n"
        "print(Client().post(path).headers['X-RateLimit-Remaining'])"
    )
    done = run_python(code, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_the_readme_names_every_verb() -> None:
    from ratelite import Limiter

    verbs = {name for name in dir(Limiter) if not name.startswith("_")}
    assert {
        verb for verb in verbs if f"`{verb}" not in README and f".{verb}" not in README
    } == set()


def test_quickstart_allows_three_and_denies_two(tmp_path: Path) -> None:
    command = [sys.executable, str(BINDING / "examples/quickstart.py")]
    for attempt in range(5):
        minute = time.time() // 60
        done = subprocess.run(
            [*command, str(tmp_path / f"{attempt}.db")], check=True, capture_output=True, text=True
        )
        if time.time() // 60 == minute:
            break
    lines = done.stdout.splitlines()
    assert lines[:3] == [f"request {n}: allowed, {3 - n} left" for n in (1, 2, 3)]
    assert [re.sub(r"\d+ s$", "n s", line) for line in lines[3:]] == [
        f"request {n}: denied, retry after n s" for n in (4, 5)
    ]


def test_the_ping_api_answers_and_refuses(tmp_path: Path) -> None:
    command = [sys.executable, str(BINDING / "examples/ping_api.py")]
    process = subprocess.Popen(
        [*command, str(tmp_path / "limits.db"), "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ},
        text=True,
    )
    assert process.stdout is not None
    with process:
        server = Server("127.0.0.1", int(process.stdout.readline().rpartition(":")[2]))
        ping = server.ask("GET", "/ping")
        # Two windows, should one end just now, hold six logins.
        logins = [server.ask("POST", "/login") for _ in range(7)]
        process.terminate()
    assert (ping.body, ping["X-RateLimit-Limit"]) == (b"pong\n", "10")
    refused = [answer for answer in logins if answer.status == 429]
    assert refused
    assert json.loads(refused[0].body)["limit"] == 3
