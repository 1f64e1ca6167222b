"""Serves requests by `gunicorn --preload` with a busy master and workers that are soon replaced.

    gunicorn_host.py DIRECTORY REQUESTS
"""
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading

directory, requests = sys.argv[1], int(sys.argv[2])
CLIENTS = 4
address = os.path.join(directory, "socket")
answered = os.path.join(directory, "answered")
log = os.path.join(directory, "log")


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(address)


def ask():
    connection = Connection("localhost")
    connection.request("GET", "/page")
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status == 200


def main():
    reader, ready = os.pipe()
    config = os.path.join(directory, "config.py")
    with open(config, "w") as file:
        file.write(f"import os\ndef when_ready(server):\n    os.write({ready}, b'.')\n")
    environment = dict(os.environ, STORE=os.path.join(directory, "store.db"), ANSWERED=answered,
                       PYTHONPATH=os.path.dirname(os.path.abspath(__file__)))
    server = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "--preload", "--workers=3", "--max-requests=10",
         "--timeout=20", "--graceful-timeout=20", "--config", config, f"--bind=unix:{address}",
         "--log-file", log, "gunicorn_app:application"], env=environment, pass_fds=[ready])
    os.close(ready)
    if os.read(reader, 1) != b".":
        sys.exit(open(log).read())
    served = [0] * CLIENTS

    def be_client(number):
        for _ in range(requests // CLIENTS):
            served[number] += ask()

    clients = [threading.Thread(target=be_client, args=(number,)) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    server.send_signal(signal.SIGTERM)
    server.wait(60)
    lines = open(log).read()
    print(f"served={sum(served)} answered={os.path.getsize(answered)} "
          f"workers={lines.count('Booting worker')} timeouts={lines.count('TIMEOUT')} "
          f"errors={lines.count('Traceback')}")
    if "Traceback" in lines:
        print(lines)


main()
