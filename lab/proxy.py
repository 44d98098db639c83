"""A CONNECT proxy on 127.0.0.1 that lets nothing out: it refuses, or answers every host itself with a throw-away CA.

Some agents ask a server of theirs for a greeting before they show anything; with an answer they go on.
"""

from __future__ import annotations

import socket
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: Hosts the certificate is for; a wildcard covers one label.
HOSTS = (
    *("api.anthropic.com", "platform.claude.com", "*.anthropic.com", "*.claude.com", "*.openai.com", "*.chatgpt.com"),
    *("*.googleapis.com", "*.github.com", "api.github.com", "*.githubcopilot.com", "*.npmjs.org", "example.com"),
)


class Certificate:
    """A CA and a certificate of it, made by openssl for this run."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.ca, self.pem, self.key = folder / "ca.pem", folder / "server.pem", folder / "server.key"
        names = folder / "names"
        names.write_text("subjectAltName=" + ",".join(f"DNS:{host}" for host in HOSTS) + "\n")
        new, ca_key, request = ("-newkey", "rsa:2048", "-nodes"), folder / "ca.key", folder / "request"
        self._openssl("req", "-x509", *new, "-keyout", ca_key, "-out", self.ca, "-days", "2", "-subj", "/CN=lab")
        self._openssl("req", *new, "-keyout", self.key, "-out", request, "-subj", "/CN=lab server")
        signed = ("-CA", self.ca, "-CAkey", ca_key, "-CAcreateserial", "-days", "2", "-extfile", names)
        self._openssl("x509", "-req", "-in", request, *signed, "-out", self.pem)
        ca_key.unlink()

    @staticmethod
    def _openssl(*words: object) -> None:
        subprocess.run(["openssl", *map(str, words)], capture_output=True, timeout=60, check=True)

    def context(self) -> ssl.SSLContext:
        """For the server's side of a connection."""
        found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        found.load_cert_chain(self.pem, self.key)
        return found


class Proxy:
    """A running proxy; `asked` names the hosts somebody wanted."""

    def __init__(self, certificate: Certificate | None) -> None:
        self.asked: dict[str, int] = {}
        self.context = certificate.context() if certificate else None
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @contextmanager
    def running(self) -> Iterator[Proxy]:
        """Serve until the block is left."""
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    proxy: Proxy


class _Handler(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        """One connection."""
        with suppress(OSError, ValueError):
            self._serve(self.request)

    def _serve(self, client: socket.socket) -> None:
        proxy = self.server.proxy
        first = _request(client).split("\r\n", 1)[0]
        verb, _, rest = first.partition(" ")
        host = rest.split(" ", 1)[0]
        if host:
            proxy.asked[host] = proxy.asked.get(host, 0) + 1
        if verb != "CONNECT" or proxy.context is None:
            client.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            return
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with proxy.context.wrap_socket(client, server_side=True) as inner:
            while _request(inner):
                head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: "
                body = '{"message":"hello"}'
                inner.sendall(f"{head}{len(body)}\r\n\r\n{body}".encode())


def _request(connection: socket.socket) -> str:
    """The head of the next request, its body read away; empty at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return ""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    wanted = 0
    for line in head.lower().split(b"\r\n")[1:]:
        if line.startswith(b"content-length:"):
            wanted = int(line.split(b":", 1)[1])
    while len(body) < wanted:
        piece = connection.recv(65536)
        if not piece:
            break
        body += piece
    return head.decode("latin-1")
