"""Gemini: `POST …:generateContent` and `…:streamGenerateContent`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab.mock.script import Ask, Call, Reply, shaped, texts, whole, word_in

_USAGE = {"promptTokenCount": 1200, "candidatesTokenCount": 40, "totalTokenCount": 1240}
_STATUS = {429: "RESOURCE_EXHAUSTED", 401: "UNAUTHENTICATED"}


def matches(path: str) -> bool:
    """Whether a request path is of this protocol."""
    return path.endswith((":generateContent", ":streamGenerateContent"))


def parse(path: str, body: Mapping[str, Any]) -> Ask:
    """The request in our terms."""
    word, results = "", 0
    contents = body.get("contents") or []
    for content in [contents] if isinstance(contents, Mapping) else contents:
        parts = [part for part in content.get("parts") or [] if isinstance(part, Mapping)]
        results += sum("functionResponse" in part for part in parts)
        said = word_in("\n".join(part.get("text", "") for part in parts)) if content.get("role") == "user" else ""
        if said:
            word, results = said, 0
    tools = {}
    for tool in body.get("tools") or []:
        for function in tool.get("functionDeclarations") or []:
            tools[function["name"]] = function.get("parametersJsonSchema") or function.get("parameters") or {}
    config = body.get("generationConfig") or {}
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    model = path.rsplit("/", 1)[-1].partition(":")[0]
    return Ask(word, results, tools, ":stream" in path, model, schema)


def error(status: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Body and headers of a failure."""
    message = "Resource has been exhausted (e.g. check quota)." if status == 429 else "An internal error has occurred."
    found: dict[str, Any] = {"code": status, "message": message, "status": _STATUS.get(status, "INTERNAL")}
    if status == 429:
        violation = {"quotaMetric": "requests", "quotaId": "GenerateRequestsPerDayPerProject", "quotaValue": "50"}
        kind = "type.googleapis.com/google.rpc.QuotaFailure"
        found["details"] = [{"@type": kind, "violations": [violation]}]
    return {"error": found}, {}


def complete(ask: Ask, replies: Sequence[Reply], calls: Sequence[Call]) -> dict[str, Any]:
    """The answer in one piece."""
    text = json.dumps(shaped(ask.schema)) if ask.schema is not None else whole(replies)
    return _candidate([{"text": text}, *map(_part, calls)], "STOP")


def _part(call: Call) -> dict[str, Any]:
    return {"functionCall": {"name": call.name, "args": call.args}}


def _candidate(parts: list[dict[str, Any]], finish: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        found["finishReason"] = finish
    return {"candidates": [found], "usageMetadata": _USAGE, "modelVersion": "mock-model", "responseId": "lab"}


def stream(ask: Ask, replies: Sequence[Reply], calls: Sequence[Call]) -> Iterator[bytes]:
    """The answer as server-sent events, paced."""
    thought = False
    for kind, piece in texts(replies):
        if kind == "text":
            yield _event([{"text": piece}])
        elif kind == "think" and not thought:
            thought = True
            yield _event([{"text": "**Considering the request**\n\nWeighing the options.\n", "thought": True}])
    for call in calls:
        yield _event([_part(call)])
    yield _event([{"text": ""}], "STOP")


def _event(parts: list[dict[str, Any]], finish: str | None = None) -> bytes:
    return f"data: {json.dumps(_candidate(parts, finish))}\r\n\r\n".encode()
