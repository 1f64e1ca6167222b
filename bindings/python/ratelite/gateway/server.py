"""The server: a thread for each connection."""

from __future__ import annotations

import logging
import socket
import socketserver
from typing import Any

from .gateway import Gateway
from .head import Malformed, parse
from .response import as_problem
from .wire import Body, Disconnected, Wire

_log = logging.getLogger("ratelite.gateway")


class Server(socketserver.ThreadingTCPServer):
    """Serves a gateway on an address."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, gateway: Gateway) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        self.gateway = gateway
        super().__init__((host, port), Connection)

    @property
    def url(self) -> str:
        """Where it listens."""
        host, port = self.server_address[:2]
        name = host.decode() if isinstance(host, (bytes, bytearray)) else str(host)
        return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        _log.exception("a request failed")


class Connection(socketserver.BaseRequestHandler):
    """The requests of one connection, one after the other."""

    server: Server

    def handle(self) -> None:
        wire = Wire(self.request)
        try:
            while self._serve(wire):
                pass
            wire.linger()
        except Disconnected:
            pass

    def _serve(self, wire: Wire) -> bool:
        """Answers one request; whether another may follow."""
        head = None
        try:
            head = parse(wire.head())
            body = Body(wire, head)
            response = self.server.gateway.answer(head, body, self.client_address[0])
        except Malformed as error:
            return as_problem(error.status, error.reason).send(wire, head, keep=False)
        except Disconnected:
            raise
        except Exception:
            _log.exception("a request could not be answered")
            return as_problem(500, "The gateway failed.").send(wire, head, keep=False)
        keep = head.persistent and body.drain()
        return response.send(wire, head, keep)
