"""Anthropic Messages: `POST …/v1/messages`."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab.mock.script import Ask, Call, Reply, texts, whole, word_in

_NUMBERS = itertools.count(1)
_USAGE = {
    "input_tokens": 1200,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 800,
    "output_tokens": 40,
}
_KINDS = {500: "api_error", 529: "overloaded_error", 429: "rate_limit_error", 401: "authentication_error"}


def matches(path: str) -> bool:
    """Whether a request path is of this protocol."""
    return path.endswith("/v1/messages")


def parse(path: str, body: Mapping[str, Any]) -> Ask:
    """The request in our terms."""
    word, results = "", 0
    for message in body.get("messages") or []:
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if message.get("role") != "user":
            continue
        said = " ".join(_said(part.get("text", "")) for part in parts if part.get("type") == "text")
        if word_in(said):
            word, results = word_in(said), 0
        elif any(part.get("type") == "tool_result" for part in parts):
            results += 1
    tools = {tool["name"]: tool.get("input_schema") or {} for tool in body.get("tools") or [] if "name" in tool}
    return Ask(word, results, tools, bool(body.get("stream")), str(body.get("model")))


def _said(text: str) -> str:
    return re.sub(r"<system-reminder>.*?</system-reminder>", "", text, flags=re.DOTALL)


def error(status: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Body and headers of a failure."""
    kind = _KINDS.get(status, "api_error")
    headers = {}
    if status == 429:
        reset = str(int(time.time()) + 3600)
        headers = {"retry-after": "3600", "x-should-retry": "false", "anthropic-ratelimit-unified-status": "rejected"}
        headers["anthropic-ratelimit-unified-reset"] = reset
    return {"type": "error", "error": {"type": kind, "message": f"mock {kind}"}}, headers


def complete(ask: Ask, replies: Sequence[Reply], calls: Sequence[Call]) -> dict[str, Any]:
    """The answer in one piece."""
    content: list[dict[str, Any]] = [{"type": "text", "text": whole(replies)}]
    content += [{"type": "tool_use", "id": _id("toolu"), "name": call.name, "input": call.args} for call in calls]
    return _message(ask, content, "tool_use" if calls else "end_turn")


def _message(ask: Ask, content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    head = {"id": _id("msg"), "type": "message", "role": "assistant", "model": ask.model}
    return {**head, "content": content, "stop_reason": stop, "stop_sequence": None, "usage": _USAGE}


def stream(ask: Ask, replies: Sequence[Reply], calls: Sequence[Call]) -> Iterator[bytes]:
    """The answer as server-sent events, paced."""
    yield _event("message_start", message=_message(ask, [], None))
    index, running = -1, ""
    for kind, piece in texts(replies):
        if kind == "wait":
            yield _event("ping")
            continue
        if kind != running:
            if running:
                yield _event("content_block_stop", index=index)
            index, running = index + 1, kind
            empty = {"type": "thinking", "thinking": "", "signature": ""} if kind == "think" else None
            yield _event("content_block_start", index=index, content_block=empty or {"type": "text", "text": ""})
        delta = {"type": "text_delta", "text": piece}
        if kind == "think":
            delta = {"type": "thinking_delta", "thinking": piece}
        yield _event("content_block_delta", index=index, delta=delta)
    if running:
        yield _event("content_block_stop", index=index)
    for call in calls:
        index += 1
        block = {"type": "tool_use", "id": _id("toolu"), "name": call.name, "input": {}}
        yield _event("content_block_start", index=index, content_block=block)
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.args)}
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    stop = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield _event("message_delta", delta=stop, usage={"output_tokens": 40})
    yield _event("message_stop")


def _event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def _id(prefix: str) -> str:
    return f"{prefix}_lab{next(_NUMBERS):05d}"
