"""The loaded plugin in a house full of odd names, and after its files are gone: nothing runs, nothing is in the way."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from agents_plugin import repair
from agents_plugin.tmux.runner import Runner
from tests.loading import copy_plugin, give_python, load, monitor_pid, settle
from tests.support import Client, Server, stays, wait_for

pytestmark = pytest.mark.timeout(120)


def every_hook(server: Server, client: Client) -> None:
    """Fires each of our hooks, attached and detached; ends with the client gone."""
    first, second = server.window(), server.window()
    beside = server.split(second)
    for pane in (first, second, beside):
        server.cmd("set-option", "-p", "-t", pane, "@agent_state", "blocked")
        server.cmd("set-option", "-p", "-t", pane, "@agent_attention", "1")
    server.cmd("agents-rollup")
    for keys in ("\x02n", "\x02n", "\x02o", "\x02;", "\x02p", "\x02j", "\x02J", "\x1b[O", "\x1b[I"):
        client.send(keys)
        client.settle(0.1)
    server.cmd("select-pane", "-t", beside)
    server.cmd("kill-pane", "-t", beside)
    server.cmd("new-session", "-d", "-s", "elsewhere", "cat")
    server.cmd("switch-client", "-c", client.name, "-t", "elsewhere")
    server.cmd("detach-client", "-t", client.name)
    wait_for(lambda: not client.session(), what="detached")
    server.cmd("set-option", "-p", "-t", first, "@agent_attention", "1")
    for pane in (first, second):
        server.cmd("select-window", "-t", pane)
        server.cmd("select-pane", "-t", pane)
    server.cmd("kill-pane", "-t", first)


def undisturbed(server: Server) -> bool:
    return not server.cmd("list-panes", "-a", "-F", "#{?pane_in_mode,#{pane_id} #{pane_mode},}").strip()


@pytest.mark.parametrize("broken", ["removed", "failing-and-printing"])
def test_case_152_hooks_of_a_plugin_that_broke_disturb_no_pane(broken: str, server: Server, tmp_path: Path) -> None:
    server.cmd("set-option", "-s", "focus-events", "on")
    server.cmd("set-option", "-g", "assume-paste-time", "0")
    plugin = copy_plugin(tmp_path / "plugin")
    subprocess.run([plugin / "agents.tmux", "again"], env=server.inside(), check=True, timeout=30)
    for key, command in (("j", "agents-jump"), ("J", "agents-back")):
        server.cmd("bind-key", key, "run-shell", "-C", command)
    if broken == "removed":
        shutil.rmtree(plugin)
    else:
        for name in ("poke", "drive", "lib.sh"):
            (plugin / "scripts" / name).write_text("#!/bin/sh\necho out; echo err >&2; exit 3\n")
    client = server.attach("main")
    every_hook(server, client)
    stays(lambda: undisturbed(server), 0.6)
    server.attach("main")
    stays(lambda: undisturbed(server), 0.4)


def test_case_126_hooks_and_keys_among_hostile_names_run_nothing(server: Server) -> None:
    trap = server.base / "trap"
    place = server.base / "p'$(touch trap)'q;touch trap"
    place.mkdir()
    server.cmd("set-option", "-g", "assume-paste-time", "0")
    server.cmd("set-option", "-g", "status-interval", "1")
    server.cmd("set-option", "-g", "status-right", "#{agents_status}")
    name = f"x; touch {trap} # ##(touch {trap})"
    server.cmd("rename-session", "-t", "main", name.replace(".", "_").replace(":", "_"))
    session = server.cmd("list-sessions", "-F", "#{session_id}")
    server.cmd("rename-window", "-t", session, f"'; touch {trap} ##[bg=red]##(touch {trap})")
    title = f"printf '\\033]2;x; touch {trap} #(touch {trap})\\007'; echo titled; exec cat"
    pane = server.cmd("new-window", "-d", "-t", session, "-c", str(place), "-P", "-F", "#{pane_id}", title)
    wait_for(lambda: "titled" in server.screen(pane), what="titled")
    give_python(server)
    load(server)
    settle(server)
    wait_for(lambda: monitor_pid(server), what="monitor")
    for option in ("@agent_status_text", "@agent_display_name", "@agent_name", "@agent_detail"):
        server.cmd(
            "set-option", "-p", "-t", pane, option, f"#(touch {trap})#{{E:pane_title}}}} ; run-shell 'touch {trap}'"
        )
    server.cmd("set-option", "-p", "-t", pane, "@agent_state", f"blocked:{int(time.time())}")
    client = server.attach(session)
    wait_for(lambda: server.option(pane, "@agent_source") == "report", what="the report taken up")
    client.send("\x02j")
    wait_for(lambda: client.where() == pane, what="jumped")
    for keys in ("\x02J", "\x02n", "\x02p", "\x02A", "q"):
        client.send(keys)
        client.settle(0.1)
    every_hook(server, client)
    stays(lambda: not trap.exists() and undisturbed(server), 0.6)
    assert not list(Path.cwd().glob("trap*")) and not list(place.iterdir())


def test_wiped_hooks_are_put_back(server: Server) -> None:
    runner = Runner(server.socket)
    assert not repair.hooks(runner, server.pid)  # not loaded here
    give_python(server)
    load(server)
    settle(server)
    assert not repair.hooks(runner, server.pid)
    server.cmd("set-hook", "-g", "after-select-pane", "set -g @theirs yes")
    assert repair.hooks(runner, server.pid)
    hooks = server.cmd("show-hooks", "-g").splitlines()
    assert "after-select-pane[0] set-option -g @theirs yes" in hooks
    assert sum(line.startswith("after-select-pane[4710] ") for line in hooks) == 1
    assert not repair.hooks(runner, server.pid)
