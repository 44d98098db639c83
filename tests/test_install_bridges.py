"""The bridges for agents without hooks, in a real JavaScript engine: every event becomes a file, silently."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agents_plugin.__main__ import main
from agents_plugin.host.spool import Spool, read
from agents_plugin.integrations import wrapper
from agents_plugin.manifests import BUNDLED, load
from tests.installing import DEFAULTS, empty_home, put, tree
from tests.support import wait_for

NODE = shutil.which("node", path=os.environ.get("PATH", "") + ":/usr/local/bin:/opt/homebrew/bin")
needs_node = pytest.mark.skipif(NODE is None, reason="no node here")

#: As OpenCode calls a plugin.
OPENCODE = """
const module = await import(process.argv[2])
const plugins = Object.values(module)
if (plugins.length !== 1) throw new Error("every export is called as a plugin")
const hooks = await plugins[0]({})
const long = { args: { command: "x".repeat(1e6) } }
const say = (type, properties) => hooks.event({ event: { type, properties } })
await say("session.created", { sessionID: "root", info: { id: "root", title: "secret title" } })
await say("session.created", { sessionID: "child", info: { id: "child", parentID: "root" } })
await hooks["chat.message"]({ sessionID: "root", agent: "build" }, { parts: [{ text: "secret prompt" }] })
for (let n = 0; n < 9; n++) await say("message.part.updated", { sessionID: "root", part: { text: "secret" } })
await say("session.status", { sessionID: "root", status: { type: "busy" } })
await hooks["tool.execute.before"]({ tool: "bash", sessionID: "root", callID: "c" }, long)
await say("permission.asked", { id: "p", sessionID: "root", permission: "bash", patterns: ["ls"], metadata: {} })
await say("permission.replied", { sessionID: "root", requestID: "p", reply: "once" })
await hooks["tool.execute.after"]({ tool: "bash", sessionID: "root", callID: "c" }, {})
await hooks.event({})
await hooks.event({ event: { type: "session.error" } })
await say("session.idle", { sessionID: "root" })
await hooks.dispose()
"""
OPENCODE_TOLD = [
    *("session.created", "session.created", "chat.message", "session.status", "tool.execute.before"),
    *("permission.asked", "permission.replied", "tool.execute.after", "session.error", "session.idle", "dispose"),
]
#: As pi loads an extension.
PI = """
const { default: extension } = await import(process.argv[2])
const handlers = {}
extension({ on: (name, handler) => { handlers[name] = handler } })
if (process.argv[3] === "names") { console.log(JSON.stringify(Object.keys(handlers))); process.exit() }
const ctx = { sessionManager: { getSessionId: () => "s1" } }
const say = (name, event, context) => {
  if (handlers[name]({ type: name, ...event }, context) !== undefined) throw new Error("an answer decides")
}
say("session_start", { reason: "startup" }, { ...ctx, hasUI: false })
say("session_start", { reason: "startup" }, { ...ctx, hasUI: true })
say("input", { source: "interactive", text: "secret prompt" }, ctx)
say("agent_start", {}, ctx)
say("tool_execution_start", { toolName: "bash", args: { command: "ls" } }, ctx)
say("ui_prompt_start", { kind: "select", title: "Allow?" }, undefined)
say("ui_prompt_end", {}, {})
say("tool_execution_end", { toolName: "bash", isError: false, result: { secret: 1 } }, ctx)
say("agent_settled", { aborted: false }, ctx)
say("session_shutdown", { reason: "quit" }, ctx)
"""
PI_TOLD = [
    *("session_start", "input", "agent_start", "tool_execution_start", "ui_prompt_start", "ui_prompt_end"),
    *("tool_execution_end", "agent_settled", "session_shutdown"),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return empty_home(tmp_path, monkeypatch)


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(home: Path, tmp_path: Path) -> Run:
    """Installs a bridge and lets a script of ours use it, as the agent would."""

    def start(ident: str, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        bridge = home / DEFAULTS[ident]
        if not bridge.exists():
            assert main(["install", ident, "--yes"]) == 0
        # Node 20 reads no .ts; the bridge is plain enough to be read as JavaScript.
        copy = put(tmp_path / "bridge.mjs", bridge.read_bytes())
        agent = put(tmp_path / "agent.mjs", script)
        return subprocess.run(
            [str(NODE), str(agent), str(copy), *arguments],
            capture_output=True,
            text=True,
            timeout=50,
            env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
            check=False,
        )

    return start


def told(home: Path, count: int) -> list[tuple[str, str]]:
    """The events in the spool, in order, with their payloads."""
    spool = home / ".local/state/agents.tmux/spool"

    def complete() -> bool:
        return spool.is_dir() and sum(read(path) is not None for path in spool.iterdir()) >= count

    wait_for(complete, 20)
    # Files of one step of the clock are told apart by the process that wrote them.
    facts = {path.name: (path.stat().st_mtime_ns, int(path.name.split(".")[0])) for path in spool.iterdir()}
    events = Spool(spool).pending(max(facts.values())[0] // 1_000_000)
    events.sort(key=lambda event: facts[event.path.name])
    return [(event.event, event.payload) for event in events]


@needs_node
@pytest.mark.parametrize(
    "ident, script, names",
    [("opencode", OPENCODE, OPENCODE_TOLD), ("kilo", OPENCODE, OPENCODE_TOLD), ("pi", PI, PI_TOLD)],
)
def test_every_event_is_told_in_order_and_in_silence(
    ident: str, script: str, names: list[str], home: Path, run: Run
) -> None:
    done = run(ident, script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    events = told(home, len(names))
    # What is told at the end runs side by side with what was still waiting.
    assert sorted(name for name, _ in events) == sorted(names)
    assert all("secret" not in payload and len(payload) < 10_000 for _, payload in events)


SLOW_OPENCODE = OPENCODE.replace("await hooks.dispose()\n", "await new Promise(done => setTimeout(done, 3000))\n")


@needs_node
@pytest.mark.parametrize("ident, path", [("opencode", "i.sessionID"), ("kilo", "i.sessionID")])
def test_case_070_payloads_are_those_the_manifest_reads(ident: str, path: str, home: Path, run: Run) -> None:
    assert run(ident, SLOW_OPENCODE).returncode == 0
    events = told(home, len(OPENCODE_TOLD) - 1)
    assert [name for name, _ in events] == OPENCODE_TOLD[:-1], "one after the other"
    data = [json.loads(payload) for _, payload in events]
    assert data[1]["info"] == {"id": "child", "parentID": "root"}
    assert data[2]["i"]["sessionID"] == "root"
    assert data[4]["o"]["args"]["command"] == "x" * 2000


@needs_node
@pytest.mark.parametrize("ident, script", [("opencode", OPENCODE), ("kilo", OPENCODE), ("pi", PI)])
@pytest.mark.parametrize("fault", ["missing", "not executable", "hanging", "failing"])
def test_case_139_without_a_working_wrapper_the_agent_notices_nothing(
    ident: str, script: str, fault: str, home: Path, run: Run
) -> None:
    assert main(["install", ident, "--yes"]) == 0
    place = wrapper.path(os.environ)
    place.unlink()
    if fault == "not executable":
        put(place, "#!/bin/sh\n", 0o600)
    elif fault == "hanging":
        put(place, "#!/bin/sh\nexec sleep 1\n", 0o700)
    elif fault == "failing":
        put(place, "#!/bin/sh\necho out; echo err >&2; exit 2\n", 0o700)
    done = run(ident, script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("ident", ["opencode", "kilo", "pi"])
def test_case_071_the_bridge_tells_all_the_manifest_listens_to(ident: str, home: Path) -> None:
    hooks = load(BUNDLED / f"{ident}.yaml").hooks
    assert hooks is not None
    assert main(["install", ident, "--yes"]) == 0
    source = (home / DEFAULTS[ident]).read_text()
    # The typed hook never fired; its event does.
    wanted = {name for rule in hooks.events if not rule.ignore for name in rule.on} - {"permission.ask"}
    assert [name for name in sorted(wanted) if f'"{name}"' not in source and f"{name}:" not in source] == []


@pytest.mark.parametrize("ident", ["opencode", "kilo", "pi"])
def test_a_file_of_somebody_else_stays(ident: str, home: Path) -> None:
    put(home / DEFAULTS[ident], "export const Mine = 1\n")
    before = tree(home)
    assert main(["install", ident, "--yes"]) == 1
    assert tree(home) == before
    assert main(["install", "--remove", ident, "--yes"]) == 0
    assert tree(home) == before


@pytest.mark.parametrize("ident", ["opencode", "kilo", "pi"])
def test_an_older_bridge_is_replaced_and_others_beside_it_stay(ident: str, home: Path) -> None:
    assert main(["install", ident, "--yes"]) == 0
    path = home / DEFAULTS[ident]
    good = path.read_text()
    path.write_text(good + "// older\n")
    other = put(path.with_name("other.js"), "mine")
    assert main(["install", ident, "--yes"]) == 0
    assert path.read_text() == good
    assert main(["install", "--remove", ident, "--yes"]) == 0
    assert not path.exists() and other.read_text() == "mine"
