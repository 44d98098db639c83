"""OpenAI chat completions: `POST …/chat/completions`."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab.mock.script import Ask, Call, Reply, shaped, texts, whole, word_in

_NUMBERS = itertools.count(1)
_USAGE = {"prompt_tokens": 1200, "completion_tokens": 40, "total_tokens": 1240}


def matches(path: str) -> bool:
    """Whether a request path is of this protocol."""
    return path.rstrip("/").endswith("/chat/completions")


def parse(path: str, body: Mapping[str, Any]) -> Ask:
    """The request in our terms."""
    word, results = "", 0
    for message in body.get("messages") or []:
        if message.get("role") == "tool":
            results += 1
        elif message.get("role") == "user":
            said = word_in(_text(message.get("content")))
            if said:
                word, results = said, 0
    tools = {}
    for tool in body.get("tools") or []:
        function = tool.get("function") or tool
        tools[str(function.get("name"))] = function.get("parameters") or {}
    wanted = body.get("response_format") or {}
    schema = (wanted.get("json_schema") or {}).get("schema") or ({} if wanted.get("type") == "json_object" else None)
    return Ask(word, results, tools, bool(body.get("stream")), str(body.get("model")), schema)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content or [] if isinstance(part, Mapping))


def error(status: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Body and headers of a failure."""
    if status == 429:
        message = "Rate limit reached for mock-model. Please try again later."
        return {"error": {"message": message, "type": "rate_limit_error", "code": "rate_limit_exceeded"}}, {
            "retry-after": "20"
        }
    message = "The server had an error while processing your request"
    return {"error": {"message": message, "type": "server_error", "code": "server_error"}}, {}


def complete(ask: Ask, replies: Sequence[Reply], calls: Sequence[Call]) -> dict[str, Any]:
    """The answer in one piece."""
    content = json.dumps(shaped(ask.schema)) if ask.schema is not None else whole(replies)
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [_call(call, index) for index, call in enumerate(calls)]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {**_head(ask, "chat.completion"), "choices": [choice], "usage": _USAGE}


def _call(call: Call, index: int) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(call.args)}
    return {"index": index, "id": f"call_lab{next(_NUMBERS):05d}", "type": "function", "function": function}


def _head(ask: Ask, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-lab", "object": kind, "created": int(time.time()), "model": ask.model}


def stream(ask: Ask, replies: Sequence[Reply], calls: Sequence[Call]) -> Iterator[bytes]:
    """The answer as server-sent events, paced."""
    head = _head(ask, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return f"data: {json.dumps({**head, 'choices': [choice], **more})}\n\n".encode()

    yield chunk({"role": "assistant", "content": ""})
    for kind, piece in texts(replies):
        if kind == "wait":
            yield b": still there\n\n"
        else:
            yield chunk({"content" if kind == "text" else "reasoning_content": piece})
    for index, call in enumerate(calls):
        yield chunk({"tool_calls": [_call(call, index)]})
    yield chunk({}, "tool_calls" if calls else "stop", usage=_USAGE)
    yield f"data: {json.dumps({**head, 'choices': [], 'usage': _USAGE})}\n\n".encode()
    yield b"data: [DONE]\n\n"
