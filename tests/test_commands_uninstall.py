"""`agents uninstall` leaves a server and a home as they were."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agents_plugin.host.runtime import open_runtime
from tests.actor import Actor
from tests.cli import asked
from tests.loading import run_directory
from tests.support import ROOT, Server, wait_for

STATUS = "#[fg=red]a;b #{agents_status} 'q' %H:%M"


def traces(server: Server) -> dict[str, str]:
    """Everything a plugin could have left in a server."""
    panes = server.cmd("list-panes", "-a", "-F", "#{pane_id}").split()
    asked_for = {
        "global": ("show-options", "-g"),
        "windows": ("show-options", "-gw"),
        "server": ("show-options", "-s"),
        "hooks": ("show-hooks", "-g"),
        "window hooks": ("show-hooks", "-gw"),
        "keys": ("list-keys",),
        "session": ("show-options", "-t", "main"),
        "window": ("show-options", "-w", "-t", "main:0"),
        "hidden": ("show-environment", "-gh"),
        "session's hidden": ("show-environment", "-h", "-t", "main"),
        **{pane: ("show-options", "-p", "-t", pane) for pane in panes},
    }
    return {what: server.cmd(*command) for what, command in asked_for.items()}


@pytest.fixture
def before(server: Server) -> dict[str, str]:
    """The user's own server: a placeholder, hooks, keys, an option, and what it all looks like."""
    server.cmd("set-option", "-g", "status-right", STATUS)
    server.cmd("set-hook", "-g", "after-select-pane[3]", "display-message mine")
    server.cmd("set-option", "-s", "command-alias[200]", "mine=display-message mine")
    server.cmd("bind-key", "-T", "prefix", "J", "resize-pane", "-D")
    server.cmd("set-option", "-g", "@agents-python", sys.executable)
    server.cmd("set-option", "-p", "-t", "main:0", "@agent_hint", "claude")
    return traces(server)


@pytest.fixture
def loaded(server: Server, before: dict[str, str]) -> Server:
    """The plugin in it, at work, with a client and an agent that waits."""
    server.cmd("run-shell", f"'{ROOT}/agents.tmux'")
    server.attach("main")
    runtime = open_runtime(server.pid, server.env)
    wait_for(lambda: runtime.holder(), timeout=40, what="the monitor")
    wait_for(lambda: "agents-jump" in server.cmd("list-keys", "-T", "prefix"), timeout=40, what="keys")
    return server


def test_everything_goes_and_twice_is_fine(loaded: Server, before: dict[str, str]) -> None:
    actor = Actor(loaded)
    actor.show("blocked__bash_permission__w100")
    wait_for(lambda: loaded.option(actor.pane, "@agent_state") == "blocked", timeout=40)
    monitor = open_runtime(loaded.pid, loaded.env).holder()
    assert monitor
    said = asked(loaded, "uninstall")
    for word in ("removed hooks: ", "removed keys: prefix ", "command aliases", "status line: as you wrote it"):
        assert word in said
    assert f"stopped the helper (process {monitor.pid})" in said
    assert "removed the states of 2 panes" in said, "the pinned one and the agent"
    after = traces(loaded)
    assert after.pop(actor.pane) == ""
    assert after == before
    assert not run_directory(loaded).exists()
    wait_for(lambda: not Path(f"/proc/{monitor.pid}").exists(), what="the monitor ended")
    assert "nothing of ours is in this server" in asked(loaded, "uninstall")
    assert {name: text for name, text in traces(loaded).items() if name != actor.pane} == before


def test_purge_removes_what_was_made_at_home_and_nothing_else(server: Server, before: dict[str, str]) -> None:
    data, state = server.home / ".local/share/agents.tmux", server.home / ".local/state/agents.tmux"
    for place in (data / "venv", state / "spool"):
        place.mkdir(parents=True)
        (place / "file").write_text("x")
    own = server.home / ".config/agents.tmux/manifests"
    own.mkdir(parents=True)
    asked(server, "uninstall")
    assert data.is_dir()
    assert state.is_dir()
    said = asked(server, "uninstall", "--purge")
    assert f"removed {data}" in said
    assert f"removed {state}" in said
    assert not data.exists()
    assert not state.exists()
    assert own.is_dir()
    assert (server.home / ".local/share").is_dir()
    assert traces(server) == before


def test_purge_works_without_a_server(bare_server: Server) -> None:
    data = bare_server.home / ".local/share/agents.tmux"
    data.mkdir(parents=True)
    assert f"removed {data}" in asked(bare_server, "uninstall", "--purge", pane=None)


def test_a_home_that_is_a_link_is_not_followed(server: Server, tmp_path: Path) -> None:
    precious = tmp_path / "precious" / "agents.tmux"
    precious.mkdir(parents=True)
    share = server.home / ".local/share"
    share.mkdir(parents=True, exist_ok=True)
    (share / "agents.tmux").symlink_to(precious)
    assert f"could not remove {share}/agents.tmux" in asked(server, "uninstall", "--purge")
    assert precious.is_dir()
