"""The HTTP side of the model server: one listener on 127.0.0.1 for all protocols, and a log of what was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from lab.mock import anthropic, chat, gemini, responses
from lab.mock.script import Ask, Call, Reply, Script


class Api(Protocol):
    """What a protocol's module offers."""

    def matches(self, path: str) -> bool:
        """Whether a request path is of this protocol."""

    def parse(self, path: str, body: Mapping[str, Any]) -> Ask:
        """The request in our terms."""

    def error(self, status: int) -> tuple[dict[str, Any], dict[str, str]]:
        """Body and headers of a failure."""

    def complete(self, ask: Ask, replies: Sequence[Reply], calls: Sequence[Call]) -> dict[str, Any]:
        """The answer in one piece."""

    def stream(self, ask: Ask, replies: Sequence[Reply], calls: Sequence[Call]) -> Iterator[bytes]:
        """The answer as server-sent events, paced."""


APIS: tuple[Api, ...] = (anthropic, responses, chat, gemini)
MODEL = {"id": "mock-model", "object": "model", "created": 1700000000, "owned_by": "lab", "context_length": 200000}


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An agent that hangs up in the middle is nothing to report."""


class Mock:
    """A running model server. `events`: request, end, gone and fail of the conversation itself, in epoch ms."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.events: list[dict[str, Any]] = []
        self.unknown: list[str] = []  # requests we have no answer for
        self._lock = threading.Lock()
        self._server = _Listener(("127.0.0.1", 0), _handler(self))

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    def note(self, event: str, ask: Ask, **more: object) -> None:
        """Log something of the conversation."""
        if self.script.main(ask):
            with self._lock:
                at = int(time.time() * 1000)
                self.events.append({"t_ms": at, "mock": event, "word": ask.word, "results": ask.results, **more})

    def ended(self, word: str, since_ms: int) -> int | None:
        """When the last answer of the turn about this word was out, None while it is not."""
        with self._lock:
            for event in self.events:
                over = event["mock"] == "end" and not event["calls"]
                if over and event["word"] == word and event["t_ms"] >= since_ms:
                    return int(event["t_ms"])
        return None

    def heard(self, word: str, since_ms: int) -> int | None:
        """When the first request about this word came, None while there was none."""
        with self._lock:
            times = (event["t_ms"] for event in self.events if event["word"] == word and event["t_ms"] >= since_ms)
            return next(times, None)

    @contextmanager
    def running(self) -> Iterator[Mock]:
        """Serve until the block is left."""
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()


def _handler(mock: Mock) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on the terminal."""

        def do_HEAD(self) -> None:
            self._json(200, {})

        def do_GET(self) -> None:
            path = self.path.partition("?")[0].rstrip("/")
            if path.endswith("/models"):
                self._json(200, {"object": "list", "data": [MODEL], "has_more": False})
            elif "/models/" in path:
                self._json(200, MODEL)
            else:
                self._unknown()

        def do_POST(self) -> None:
            path = self.path.partition("?")[0]
            body = self._body()
            api = next((api for api in APIS if api.matches(path)), None)
            if path.endswith(("/count_tokens", ":countTokens")):
                self._json(200, {"input_tokens": 1200, "totalTokens": 1200})
            elif api is None:
                self._unknown()
            else:
                self._answer(api, api.parse(path, body))

        def _answer(self, api: Api, ask: Ask) -> None:
            replies = mock.script.replies(ask)
            calls = mock.script.calls(ask, replies)
            mock.note("request", ask, tools=len(ask.tools))
            if "fail" in replies[0]:
                body, headers = api.error(int(replies[0]["fail"]))
                mock.note("fail", ask, status=replies[0]["fail"])
                self._json(int(replies[0]["fail"]), body, headers)
                return
            try:
                if ask.stream:
                    self._stream(api.stream(ask, replies, calls))
                else:
                    self._json(200, api.complete(ask, replies, calls))
                mock.note("end", ask, calls=len(calls))
            except OSError:
                mock.note("gone", ask)

        def _stream(self, pieces: Iterator[bytes]) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.close_connection = True
            # A model takes a moment: without it a working state is gone before anybody can see it.
            time.sleep(0.6)
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()

        def _body(self) -> Mapping[str, Any]:
            if "chunked" in (self.headers.get("transfer-encoding") or ""):
                raw = b"".join(iter(self._chunk, b""))
            else:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            try:
                found = json.loads(raw or b"{}")
            except ValueError:
                found = {}
            return found if isinstance(found, dict) else {}

        def _chunk(self) -> bytes:
            size = int(self.rfile.readline().split(b";")[0] or b"0", 16)
            data = self.rfile.read(size)
            self.rfile.readline()
            return data

        def _unknown(self) -> None:
            mock.unknown.append(f"{self.command} {self.path.partition('?')[0][:120]}")
            self._json(404, {"error": {"message": "not found", "type": "not_found_error"}})

        def _json(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

    return Handler
