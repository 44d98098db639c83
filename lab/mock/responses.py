"""OpenAI Responses: `POST …/responses`."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab.mock.script import Ask, Call, Reply, texts, whole, word_in

_NUMBERS = itertools.count(1)
_RESULTS = frozenset(
    ("function_call_output", "custom_tool_call_output", "local_shell_call_output", "mcp_tool_call_output")
)
_USAGE = {
    "input_tokens": 1200,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 1250,
}


def matches(path: str) -> bool:
    """Whether a request path is of this protocol."""
    return path.rstrip("/").endswith("/responses")


def parse(path: str, body: Mapping[str, Any]) -> Ask:
    """The request in our terms."""
    word, results = "", 0
    given = body.get("input")
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given or []:
        if item.get("type") in _RESULTS:
            results += 1
        elif item.get("role") == "user":
            content = item.get("content")
            said = content if isinstance(content, str) else " ".join(part.get("text", "") for part in content or [])
            if word_in(said):
                word, results = word_in(said), 0
    tools, custom = {}, set()
    for tool in body.get("tools") or []:
        name = str(tool.get("name") or tool.get("type"))
        tools[name] = tool.get("parameters") or {}
        if tool.get("type") == "custom":
            custom.add(name)
    return Ask(word, results, tools, bool(body.get("stream")), str(body.get("model")), custom=frozenset(custom))


def error(status: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Body and headers of a failure."""
    kind = "rate_limit_exceeded" if status == 429 else "server_error"
    headers = {"retry-after": "20"} if status == 429 else {}
    return {"error": {"message": f"mock error {status}", "type": kind, "code": kind}}, headers


def complete(ask: Ask, replies: Sequence[Reply], calls: Sequence[Call]) -> dict[str, Any]:
    """The answer in one piece."""
    return _response([_said(whole(replies)), *map(_item, calls)])


def _response(output: list[dict[str, Any]], status: str = "completed") -> dict[str, Any]:
    return {"id": _id("resp"), "object": "response", "status": status, "output": output, "usage": _USAGE}


def _said(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": _id("msg"), "role": "assistant", "content": content}


def _item(call: Call) -> dict[str, Any]:
    head = {"id": _id("fc"), "call_id": _id("call"), "name": call.name}
    if isinstance(call.args, str):
        return {"type": "custom_tool_call", **head, "input": call.args}
    return {"type": "function_call", **head, "arguments": json.dumps(call.args)}


def stream(ask: Ask, replies: Sequence[Reply], calls: Sequence[Call]) -> Iterator[bytes]:
    """The answer as server-sent events, paced."""
    response = _response([], "in_progress")
    yield _event("response.created", response=response)
    output: list[dict[str, Any]] = []
    running, text = "", ""
    for kind, piece in texts(replies):
        if kind == "wait":
            yield _event("response.in_progress", response=response)
            continue
        if kind != running:
            if running:
                yield from _close(running, text, output)
            running, text = kind, ""
            yield from _open(kind, len(output))
        text += piece
        place = {"item_id": f"item{len(output)}", "output_index": len(output), "delta": piece}
        if kind == "think":
            yield _event("response.reasoning_summary_text.delta", summary_index=0, **place)
        else:
            yield _event("response.output_text.delta", content_index=0, **place)
    if running:
        yield from _close(running, text, output)
    for call in calls:
        item = _item(call)
        yield _event("response.output_item.done", output_index=len(output), item=item)
        output.append(item)
    yield _event("response.completed", response={**response, "status": "completed", "output": output})


def _open(kind: str, index: int) -> Iterator[bytes]:
    if kind == "think":
        yield _event(
            "response.output_item.added",
            output_index=index,
            item={"type": "reasoning", "id": f"item{index}", "summary": []},
        )
        part = {"type": "summary_text", "text": ""}
        place = {"item_id": f"item{index}", "output_index": index, "summary_index": 0}
        yield _event("response.reasoning_summary_part.added", part=part, **place)
    else:
        item = {"type": "message", "id": f"item{index}", "role": "assistant", "content": []}
        yield _event("response.output_item.added", output_index=index, item=item)


def _close(kind: str, text: str, output: list[dict[str, Any]]) -> Iterator[bytes]:
    item = {**_said(text), "id": f"item{len(output)}"}
    if kind == "think":
        summary = [{"type": "summary_text", "text": text}]
        item = {"type": "reasoning", "id": f"item{len(output)}", "summary": summary, "encrypted_content": "x"}
    yield _event("response.output_item.done", output_index=len(output), item=item)
    output.append(item)


def _event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def _id(prefix: str) -> str:
    return f"{prefix}_lab{next(_NUMBERS):05d}"
