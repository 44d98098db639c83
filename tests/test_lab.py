"""The lab's parts: what the model server says in each protocol, the proxy, scenario files, and one run with a toy."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agents_plugin.saved import load_screen
from agents_plugin.tape import open_tape
from lab import __main__ as command
from lab.mock.script import Script
from lab.mock.server import Mock
from lab.proxy import Certificate, Proxy
from lab.scenario import SCENARIOS, ScenarioError, load, names
from tests.support import ROOT, wait_for

WORDS: dict[str, list[list[dict[str, Any]]]] = {
    "quick": [[{"say": "Fast answer.", "each": 0}]],
    "own": [[{"tool": "Special", "args": {"in": "$WORK/x"}}]],
}
SHELL = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "description": {"type": "string"}},
    "required": ["command", "description"],
}


@pytest.fixture
def mock() -> Iterator[Mock]:
    with Mock(Script("/w", WORDS, "Do you want to proceed?")).running() as found:
        yield found


def post(mock: Mock, path: str, body: Mapping[str, Any]) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", mock.port, timeout=20)
    connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read().decode("utf-8")


def anthropic(prompt: str, results: int = 0, **more: Any) -> tuple[str, dict[str, Any]]:
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
    messages += [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}] * results
    return "/v1/messages", {"messages": messages, "tools": [{"name": "Bash", "input_schema": SHELL}], **more}


def responses(prompt: str, results: int = 0, **more: Any) -> tuple[str, dict[str, Any]]:
    items: list[Any] = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]}]
    items += [{"type": "function_call_output", "output": "x"}] * results
    return "/v1/responses", {
        "input": items,
        "tools": [{"type": "function", "name": "shell", "parameters": SHELL}],
        **more,
    }


def chat(prompt: str, results: int = 0, **more: Any) -> tuple[str, dict[str, Any]]:
    messages = [{"role": "user", "content": prompt}] + [{"role": "tool", "content": "x"}] * results
    tools = [{"type": "function", "function": {"name": "bash", "parameters": SHELL}}]
    return "/v1/chat/completions", {"messages": messages, "tools": tools, **more}


def gemini(prompt: str, results: int = 0, *, stream: bool = False) -> tuple[str, dict[str, Any]]:
    contents = [{"role": "user", "parts": [{"text": prompt}]}]
    contents += [{"role": "user", "parts": [{"functionResponse": {"name": "x"}}]}] * results
    tools = [{"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": SHELL}]}]
    verb = "streamGenerateContent" if stream else "generateContent"
    return f"/v1beta/models/mock:{verb}", {"contents": contents, "tools": tools}


FAMILIES = [anthropic, responses, chat, gemini]
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)


@each_family
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_text_then_a_tool_then_the_end(mock: Mock, family: Any, stream: bool) -> None:
    since = int(time.time() * 1000)
    status, said = post(mock, *family("please lab:quick", stream=stream))
    assert status == 200 and "Fast answer." in said
    wait_for(lambda: mock.ended("quick", since))
    status, said = post(mock, *family("please lab:run", stream=stream))
    assert status == 200 and "touch hello.txt" in said and "List the files" in said
    wait_for(lambda: [event for event in mock.events if (event["mock"], event["word"]) == ("end", "run")])
    assert mock.ended("run", since) is None, "a turn that calls a tool is not over"
    _, said = post(mock, *family("please lab:run", results=1, stream=stream))
    assert "finished." in said and "touch" not in said
    wait_for(lambda: mock.ended("run", since))


@each_family
def test_failures_and_the_latest_word(mock: Mock, family: Any) -> None:
    assert post(mock, *family("please lab:error"))[0] == 500
    assert post(mock, *family("please lab:limit"))[0] == 429
    _, said = post(mock, *family("first lab:run and then lab:quick"))
    assert "Fast answer." in said
    _, said = post(
        mock, *family("please lab:quote", stream=False) if family is not gemini else gemini("please lab:quote")
    )
    assert "Do you want to proceed?" in said


def test_a_request_without_tools_is_not_the_conversation(mock: Mock) -> None:
    path, body = chat("please lab:run")
    del body["tools"]
    status, said = post(mock, path, body)
    assert status == 200 and "touch" not in said and mock.events == []


def test_own_words_name_tools_that_are_not_offered(mock: Mock) -> None:
    _, said = post(mock, *chat("please lab:own"))
    assert "Special" in said and "/w/x" in said


def test_a_question_is_shaped_by_the_schema(mock: Mock) -> None:
    option = {"type": "object", "properties": {"label": {"type": "string"}, "description": {"type": "string"}}}
    one: dict[str, Any] = {
        "question": {"type": "string"},
        "header": {"type": "string"},
        "multiSelect": {"type": "boolean"},
    }
    one["options"] = {"type": "array", "items": {"$ref": "#/$defs/Option"}}
    question = {"type": "array", "items": {"type": "object", "properties": one}}
    schema = {"properties": {"questions": question}, "required": ["questions"], "$defs": {"Option": option}}
    path, body = chat("please lab:ask")
    body["tools"] = [{"type": "function", "function": {"name": "ask_user", "parameters": schema}}]
    answer = json.loads(post(mock, path, body)[1])
    arguments = json.loads(answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])
    (asked,) = arguments["questions"]
    assert asked["options"] == [
        {"label": "Red", "description": "Use red"},
        {"label": "Green", "description": "Use green"},
    ]
    assert asked["multiSelect"] is False and asked["question"].endswith("?")


def test_what_nobody_answers_is_noted(mock: Mock) -> None:
    assert post(mock, "/v1/telemetry", {"a": 1})[0] == 404
    assert mock.unknown == ["POST /v1/telemetry"]


def test_the_proxy_lets_nothing_out(tmp_path: Path) -> None:
    with Proxy(None).running() as proxy:
        connection = http.client.HTTPSConnection("127.0.0.1", proxy.port, timeout=10)
        connection.set_tunnel("api.example.com", 443)
        with pytest.raises(OSError, match="403"):
            connection.request("GET", "/")
        assert proxy.asked == {"api.example.com:443": 1}


@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl")
def test_the_proxy_answers_with_its_own_authority(tmp_path: Path) -> None:
    certificate = Certificate(tmp_path)
    with Proxy(certificate).running() as proxy:
        trust = ssl.create_default_context(cafile=str(certificate.ca))
        connection = http.client.HTTPSConnection("127.0.0.1", proxy.port, timeout=10, context=trust)
        connection.set_tunnel("api.anthropic.com", 443)
        connection.request("POST", "/api/hello", b"x" * 100_000)
        assert json.loads(connection.getresponse().read()) == {"message": "hello"}


@pytest.mark.parametrize("name", names())
def test_scenario_files_are_sound(name: str) -> None:
    agent = load(SCENARIOS / f"{name}.yaml")
    assert agent.id == name
    assert agent.install.version and (agent.install.npm or agent.install.pypi)
    for scenario in agent.scenarios:
        assert scenario.steps[0].wait, "the first step waits until the agent is there"
        assert any(step.save for step in scenario.steps)
        saves = [step.save for step in scenario.steps if step.save]
        assert len(saves) == len(set(saves))
    text = (SCENARIOS / f"{name}.yaml").read_text(encoding="utf-8")
    assert "https://" not in text, "loopback only"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("steps: [{ wait: 'x', nonsense: 1 }]", "no such key: nonsense"),
        ("steps: [{ wait: '(' }]", "wait:"),
        ("steps: [{ is: happy }]", "no such state: happy"),
        ("stepz: []", "steps"),
    ],
)
def test_what_is_wrong_in_a_scenario_is_named(tmp_path: Path, body: str, said: str) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(f"id: x\nlaunch: x\nscenarios:\n  one:\n    {body}\n")
    with pytest.raises(ScenarioError, match=r"x\.yaml") as raised:
        load(file)
    assert said in str(raised.value)


TOY = r"""
id: toy
install: { }
launch: sh ./toy
env: { LAB_HOOK: $HOOK }
files:
  toy: |
    while :; do
        printf '\033[H\033[2J● Hello from %s\n\n────────────────────\n> ' "$HOME"
        read -r prompt
        printf '\033[H\033[2J* Thinking… (esc to stop)\n────────────────────\n> '
        sleep 2
        printf '\033[H\033[2J╭──────────╮\n│ Run it?  │\n│ › 1. Yes │\n╰──────────╯\n'
        "$LAB_HOOK" Asked <toy
        read -r answer
    done
scenarios:
  one:
    steps:
      - { wait: '^>', is: idle, save: fresh }
      - { type: hello }
      - { key: Enter, wait: Thinking, is: working, save: thinking }
      - { wait: 'Run it', is: blocked, pause: 1.5, save: permission }
      - { key: Enter, wait: Hello, is: idle, save: again }
      - { wait: never there, within: 0.3, save: nothing }
      - { type: left out }
"""
MANIFEST = """
schema: 1
id: toy
identity: { names: [toy] }
patterns:
  composer: { region: { nonempty: 2 }, rows: '^─{3,}\\n>' }
rules:
  - { id: permission, state: blocked, detail: permission, region: box, contains: Run it, absent: composer }
  - { id: thinking, state: working, line: '^\\* \\S.*esc to stop', pattern: composer }
  - { id: idle, state: idle, pattern: composer }
  - { id: unused, state: blocked, contains: Never seen }
"""


@pytest.mark.timeout(120)
def test_a_run_with_a_toy(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "of the user")
    (tmp_path / "toy.yaml").write_text(TOY, encoding="utf-8")
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "toy.yaml").write_text(MANIFEST, encoding="utf-8")
    into = tmp_path / "into"
    words = [str(tmp_path / "toy.yaml"), "--manifests", str(tmp_path / "manifests"), "--into", str(into)]
    code = command.main([*words, "--width", "60"])
    shown = capsys.readouterr().out
    assert code == 0, shown
    assert "4 of 4 steps right" in shown
    assert "Never matched: unused." in shown
    assert "not reached: toy.yaml: one: step 6" in shown and "1 steps left out" in shown
    data = json.loads((into / "report.json").read_text(encoding="utf-8"))
    assert data["steps"] == {"right": 4} and data["never"] == ["unused"] and data["held"]["permission"] >= 1
    screen, facts = load_screen(into / "captures" / "toy" / "blocked__permission__w60.txt")
    assert facts["truth"] == "blocked" and screen.cols == 60 and any("Run it" in line for line in screen.lines)
    fresh = (into / "captures" / "toy" / "idle__fresh__w60.txt").read_text(encoding="utf-8")
    assert "Hello from /home/neutral" in fresh
    tape = open_tape(into / "tapes" / "toy_one_w60.jsonl")
    assert [str(state) for _, state in tape.truths][:4] == ["idle", "working", "blocked", "idle"]
    (event,) = [json.loads(line) for line in (into / "hooks.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (event["hook"], event["truth"]) == ("Asked", "working") or event["truth"] == "blocked"
    assert "of the user" not in "".join(file.read_text(encoding="utf-8") for file in into.rglob("*") if file.is_file())
    assert os.environ["SECRET_KEY"]


def test_asked_wrongly(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="2"):
        command.main(["nobody"])
    with pytest.raises(SystemExit, match="2"):
        command.main(["claude", "--scenario", "nothing"])
    assert command.main([]) == 0


ALONE = """
import socket
from lab.alone import raise_loopback
raise_loopback()
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname(), 5)
try:
    socket.create_connection(("192.0.2.1", 443), 5)
except OSError as error:
    print(error.strerror)
"""


def test_alone_there_is_loopback_and_no_way_out() -> None:
    outside = ["unshare", "-n" if os.geteuid() == 0 else "-rn"]
    if not shutil.which("unshare") or subprocess.run([*outside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no network namespaces here")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*outside, sys.executable, "-c", ALONE], env=env, capture_output=True, text=True, check=False)
    assert done.stdout == "Network is unreachable\n", done.stderr
