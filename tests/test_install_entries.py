"""The entries at work: as an agent runs them, with and without the plugin, and what doctor makes of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents_plugin.__main__ import main
from agents_plugin.host import directories
from agents_plugin.integrations import wrapper
from tests.installing import DEFAULTS, empty_home, put
from tests.support import ROOT, wait_for


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return empty_home(tmp_path, monkeypatch)


@pytest.fixture
def run_entry(home: Path) -> Iterator[Callable[..., subprocess.CompletedProcess[bytes]]]:
    """Runs the command as an agent's configuration has it, with a payload."""

    def run(ident: str, event: str, **more: object) -> subprocess.CompletedProcess[bytes]:
        data = json.loads((home / DEFAULTS[ident]).read_text())
        item = data["hooks"][event][0]
        said = item["bash"] if ident == "copilot" else item["hooks"][0]["command"]
        arguments = {"input": b'{"session_id": "s1"}', **more}
        done: subprocess.CompletedProcess[bytes] = subprocess.run(
            ["/bin/sh", "-c", said],
            capture_output=True,
            timeout=30,
            env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
            **arguments,  # type: ignore[call-overload]
        )
        return done

    yield run


ENTRIES = [("claude", "Stop"), ("codex", "Stop"), ("gemini", "AfterAgent"), ("qwen", "Stop"), ("copilot", "agentStop")]


@pytest.mark.parametrize("ident, event", ENTRIES)
def test_case_141_the_installed_command_writes_the_event(
    ident: str, event: str, home: Path, run_entry: Callable[..., subprocess.CompletedProcess[bytes]]
) -> None:
    assert main(["install", ident, "--yes"]) == 0
    done = run_entry(ident, event)
    answer = b"{}\n" if ident in ("gemini", "qwen") else b""
    assert (done.returncode, done.stdout, done.stderr) == (0, answer, b"")
    (spooled,) = (home / ".local/state/agents.tmux/spool").iterdir()
    content = spooled.read_bytes()
    assert f"agent={ident}\nevent={event}\n".encode() in content
    assert b'{"session_id": "s1"}\n--agents.tmux end--\n' in content


@pytest.mark.parametrize("ident, event", ENTRIES)
@pytest.mark.parametrize("lost", ["plugin", "wrapper"])
@pytest.mark.parametrize("payload", [b"not json", b"x" * 1_000_000, b""], ids=["bad json", "1 MB", "empty"])
def test_case_139_140_without_the_plugin_the_agent_notices_nothing(
    ident: str,
    event: str,
    lost: str,
    payload: bytes,
    home: Path,
    run_entry: Callable[..., subprocess.CompletedProcess[bytes]],
) -> None:
    assert main(["install", ident, "--yes"]) == 0
    place = wrapper.path(os.environ)
    if lost == "plugin":
        place.write_text(wrapper.text(Path("/gone/agents.tmux")))
    else:
        place.unlink()
    done = run_entry(ident, event, input=payload)
    answer = b"{}\n" if ident in ("gemini", "qwen") else b""
    assert (done.returncode, done.stdout, done.stderr) == (0, answer, b"")
    assert not (home / ".local/state").exists()


@pytest.mark.parametrize("lost", ["nothing", "plugin", "wrapper"])
def test_codex_notify_is_heard_and_silent_without_the_plugin(lost: str, home: Path) -> None:
    tomllib = pytest.importorskip("tomllib")
    assert main(["install", "codex", "--yes"]) == 0
    place = wrapper.path(os.environ)
    if lost == "plugin":
        place.write_text(wrapper.text(Path("/gone/agents.tmux")))
    elif lost == "wrapper":
        place.unlink()
    arguments = tomllib.loads((home / ".codex/config.toml").read_text())["notify"]
    done = subprocess.run(
        [*arguments, '{"type": "agent-turn-complete"}'],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    spool = home / ".local/state/agents.tmux/spool"
    if lost == "nothing":
        (spooled,) = spool.iterdir()
        assert b"event=notify\n" in spooled.read_bytes()
        assert b'{"type": "agent-turn-complete"}' in spooled.read_bytes()
    else:
        assert not spool.exists()


@pytest.mark.parametrize("shell", ["dash", "bash", "zsh", "fish", "busybox"])
def test_the_command_is_read_by_every_shell(shell: str, home: Path) -> None:
    binary = shutil.which(shell, path=os.environ.get("PATH", "") + ":/usr/local/bin")
    if not binary:
        pytest.skip(f"no {shell} here")
    start = [binary, "sh", "-c"] if shell == "busybox" else [binary, "-c"]
    for hook, spooled in ((wrapper.path(os.environ), 1), (home / "gone/agents.tmux/bin/agent-hook", 0)):
        shutil.rmtree(home / ".local/state", ignore_errors=True)
        assert main(["install", "claude", "--yes"]) == 0
        for ident, answer in (("claude", ""), ("gemini", "{}\n")):
            done = subprocess.run(
                [*start, wrapper.command(hook, ident, "Stop")],
                input="{}",
                capture_output=True,
                text=True,
                timeout=30,
                env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
                check=False,
            )
            assert (done.returncode, done.stdout, done.stderr) == (0, answer, "")
        state = home / ".local/state/agents.tmux/spool"
        assert len(list(state.iterdir()) if state.is_dir() else []) == 2 * spooled


def test_the_installed_command_starts_a_helper_where_none_lives(home: Path) -> None:
    plugin = home / "plug in/agents.tmux"
    script = ROOT / "scripts/agent-hook"
    put(plugin / "scripts/agent-hook", script.read_bytes(), 0o755)
    put(plugin / "scripts/drive", '#!/bin/sh\necho "$AGENTS_RUN" >"$HOME/driven"\n', 0o755)
    assert main(["install", "claude", "--yes"]) == 0
    place = wrapper.path(os.environ)
    place.write_text(wrapper.text(plugin))
    (home / ".local/state/agents.tmux/servers" / directories.key(77)).mkdir(parents=True)
    subprocess.run(
        ["/bin/sh", "-c", wrapper.command(place, "claude", "Stop")],
        input=b"{}",
        timeout=30,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "TMUX": "/none,77,0"},
        check=True,
    )
    name = directories.key(77)
    wait_for(lambda: (home / "driven").is_file() and (home / "driven").read_text().endswith(f"/{name}\n"), 20)
