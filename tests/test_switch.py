"""Options that take effect on a running server: off means off, on is on again, keys follow their options."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.actor import Actor
from tests.loading import give_python, key, load, monitor_pid, prefix_keys, run_directory, settle
from tests.support import ROOT, Server, alive, stays, wait_for
from tests.test_drive import counting_python, lines
from tests.test_entry import picture


@pytest.fixture
def ready(server: Server) -> Server:
    give_python(server)
    server.cmd("set-option", "-g", "status-interval", "1")
    return server


def without_switch(shown: dict[str, str]) -> dict[str, str]:
    """What a server shows, but for the hook that hears of being switched on, and for the option itself."""
    return {
        name: "\n".join(
            line
            for line in text.splitlines()
            if not line.startswith(("after-set-option[4711] ", "@agents-enabled ")) and line != "after-set-option"
        )
        for name, text in shown.items()
    }


def gone(server: Server, before: dict[str, str], pane: str) -> bool:
    """Whether nothing but the switch is left."""
    names = {name for name in server.hidden() if name.startswith("AGENTS_")}
    return (
        without_switch(picture(server)) == before
        and names == {"AGENTS_LOAD"}
        and not server.option(pane, "@agent_state")
        and not run_directory(server).exists()
    )


@pytest.mark.versions
def test_off_is_off_within_seconds_and_on_is_on_again(ready: Server) -> None:
    before = without_switch(picture(ready))
    starts = counting_python(ready)
    actor = Actor(ready, "claude")
    ready.attach("main")
    load(ready)
    settle(ready)
    wait_for(lambda: ready.option(actor.pane, "@agent_name") == "claude", what="state published")
    helper = wait_for(lambda: monitor_pid(ready))
    ready.cmd("set-option", "-g", "@agents-enabled", "off")
    wait_for(lambda: gone(ready, before, actor.pane), 5, "nothing of ours left")
    assert not alive(helper)
    begun = len(lines(starts))
    stays(lambda: gone(ready, before, actor.pane) and len(lines(starts)) == begun, 4, "nothing started")
    ready.cmd("set-option", "-gu", "@agents-enabled")
    wait_for(lambda: ready.option(actor.pane, "@agent_name") == "claude", what="state published again")
    settle(ready)


@pytest.mark.parametrize("said", ["off", "no", "0", "false"])
def test_switched_off_before_the_load(said: str, ready: Server) -> None:
    before = without_switch(picture(ready))
    pane = ready.format("main:", "#{pane_id}")
    ready.cmd("set-option", "-g", "@agents-enabled", said)
    load(ready)
    stays(lambda: gone(ready, before, pane), 1.5)
    ready.cmd("set-option", "-g", "@agents-enabled", "on")
    wait_for(lambda: monitor_pid(ready), what="helper started")


def test_switched_off_while_it_loads(ready: Server) -> None:
    before = without_switch(picture(ready))
    pane = ready.format("main:", "#{pane_id}")
    load(ready)
    for value in ("off", "on", "off", "on", "off"):
        ready.cmd("set-option", "-g", "@agents-enabled", value)
    # What was under way looks at the option once more when it is done: for a moment something may be there again.
    since = time.monotonic()

    def quiet() -> bool:
        nonlocal since
        since = since if gone(ready, before, pane) else time.monotonic()
        return time.monotonic() - since > 3

    wait_for(quiet, 15, "nothing of ours left for three seconds")


def test_off_without_the_hook_that_hears_of_it(ready: Server) -> None:
    """Somebody wiped it, and no status line is drawn: the helper sees it with its next pass."""
    before = without_switch(picture(ready))
    pane = ready.format("main:", "#{pane_id}")
    load(ready)
    settle(ready)
    wait_for(lambda: monitor_pid(ready))
    wait_for(lambda: not (run_directory(ready) / "loading").exists(), what="loaded")
    ready.cmd("set-hook", "-gu", "after-set-option[4711]")
    ready.cmd("set-option", "-g", "@agents-enabled", "off")
    wait_for(lambda: gone(ready, before, pane), what="nothing of ours left")


def test_uninstall_takes_the_switch_away_too(ready: Server) -> None:
    load(ready)
    settle(ready)
    ready.cmd("set-option", "-g", "@agents-enabled", "off")
    wait_for(lambda: "AGENTS_LOAD" in ready.hidden() and not prefix_keys(ready).count("agents-"))
    subprocess.run([ROOT / "scripts" / "uninstall"], env=ready.inside(), check=True, timeout=30)
    assert "4711" not in ready.cmd("show-hooks", "-g")
    assert not [name for name in ready.hidden() if name.startswith("AGENTS_")]


@pytest.mark.versions
def test_keys_follow_their_options(ready: Server) -> None:
    load(ready)
    settle(ready)
    wait_for(lambda: key(ready, "A"))
    wait_for(lambda: not (run_directory(ready) / "loading").exists(), what="loaded")
    ready.cmd("set-option", "-g", "@agents-jump-key", "C-g", ";", "set-option", "-g", "@agents-list-key", "none")
    wait_for(lambda: key(ready, "C-g") == "run-shell -C agents-jump", what="the new key")
    wait_for(lambda: key(ready, "j") == key(ready, "A") == "")
    assert key(ready, "J") == "run-shell -C agents-back"
    ready.cmd("set-option", "-gu", "@agents-jump-key")
    wait_for(lambda: key(ready, "j") == "run-shell -C agents-jump", what="the old key")
    assert key(ready, "C-g") == ""


def test_another_python_and_no_monitor_take_effect(ready: Server) -> None:
    load(ready)
    settle(ready)
    helper = wait_for(lambda: monitor_pid(ready))
    ready.cmd("set-option", "-g", "@agents-monitor", "off")
    wait_for((run_directory(ready) / "oneshot").exists)
    wait_for(lambda: not alive(helper))
    ready.cmd("set-option", "-gu", "@agents-monitor")
    wait_for(lambda: not (run_directory(ready) / "oneshot").exists())


def test_options_set_together_run_the_entry_once(ready: Server, tmp_path: Path) -> None:
    load(ready)
    settle(ready)
    ran = tmp_path / "ran"
    ready.cmd("set-environment", "-gh", "AGENTS_LOAD", f"echo x >>'{ran}'")
    sets = [word for n in range(20) for word in ("set-option", "-g", "@agents-jump-key", f"F{n % 9 + 1}", ";")]
    ready.cmd(*sets[:-1])
    wait_for(ran.exists)
    stays(lambda: ran.read_text() == "x\n", 0.5)
    ready.cmd("set-option", "-g", "@agents-glyphs", "ascii")
    ready.cmd("set-environment", "-ghu", "AGENTS_CHANGED")
    ready.cmd("set-option", "-g", "@agents-glyphs", "ascii")
    ready.cmd("set-option", "-g", "@mine", "@agents-enabled")
    stays(lambda: ran.read_text() == "x\n", 0.5)
