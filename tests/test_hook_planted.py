"""Whatever lies where hooks and pokes read and write: they return at once, and the event is kept where it can be."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agents_plugin.host.runtime import Poke
from agents_plugin.integrations import wrapper
from tests.support import ROOT, wait_for
from tests.test_agent_hook import HOOK, SHELLS, Home, driven, guessable, home, listening

__all__ = ["driven", "home", "listening"]

#: A loaded machine; a hook that waits for a FIFO waits for ever.
SECONDS = 10.0


def _huge(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(1 << 40)


def _unwritable(path: Path) -> None:
    path.write_text("")
    path.chmod(0)


PLANTS: dict[str, Callable[[Path], object]] = {
    "fifo": os.mkfifo,
    "directory": os.mkdir,
    "link-to-nothing": lambda path: path.symlink_to(path.parent / "none" / "at" / "all"),
    "link-to-a-terminal": lambda path: path.symlink_to("/dev/tty"),
    "link-to-a-device": lambda path: path.symlink_to("/dev/full"),
    "link-to-itself": lambda path: path.symlink_to(path),
    "huge": _huge,
    "unwritable": _unwritable,
}
planted = pytest.mark.parametrize("plant", [pytest.param(plant, id=name) for name, plant in PLANTS.items()])


def fire(home: Home, script: str, payload: bytes | None = b"{}", shell: list[str] | None = None, **env: str) -> None:
    """Run a script that ends in a hook: it must return in time, with nothing said."""
    done = subprocess.run(
        [*(shell or ["sh"]), "-c", script],
        input=payload,
        env={**home.env, **env},
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("shell", [pytest.param(shell, id="-".join(shell)) for shell in SHELLS])
@planted
def test_what_lies_under_a_coming_name_holds_no_hook(
    plant: Callable[[Path], object], shell: list[str], home: Home, tmp_path: Path
) -> None:
    """Also where no name is secret; the next free one is taken."""
    home.spool.mkdir(mode=0o700, parents=True)
    hook = guessable(tmp_path)
    ready, go = tmp_path / "ready", tmp_path / "go"
    os.mkfifo(go)
    script = f'echo $$ >"{ready}.new"; mv "{ready}.new" "{ready}"; read -r x <"{go}"; '
    script += f'exec {shlex.join(shell)} "{hook}" claude Stop'
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, env=home.env) as process:
        try:
            wait_for(ready.exists)
            for number in range(3):
                plant(home.spool / f"{process.pid}.{number}")
            go.write_text("go\n")
            process.communicate(b"{}", timeout=SECONDS)
        finally:
            process.kill()
    (event,) = [event for event in home.events() if event.agent]
    assert (event.path.name, event.payload) == (f"{process.pid}.3", "{}")


def test_nobody_knows_the_next_name(home: Home) -> None:
    """What is tested before it is opened can be changed in between, by whoever knows what will be opened."""
    for _ in range(2):
        fire(home, f'exec sh "{HOOK}" claude Stop')
    names = [event.path.name.split(".", 1)[1] for event in home.events()]
    assert len(set(names)) == 2 and all(len(name) > 20 for name in names)


@planted
@pytest.mark.parametrize("name", ["poked", "monitor", "poke"])
def test_what_lies_in_a_servers_directory_holds_no_hook(
    name: str, plant: Callable[[Path], object], home: Home, driven: Path, listening: Poke
) -> None:
    driven.with_name("drive").write_text("#!/bin/sh\n")
    path = listening.path.with_name(name)
    path.unlink(missing_ok=True)
    plant(path)
    tmux = f"/tmp/x,{os.getpid()},0"
    fire(home, f'exec sh "{driven}" claude Stop', TMUX=tmux)
    assert len(home.events()) == 1
    if name == "monitor":
        return  # without a helper a poke is the driver's
    listening.path.with_name("monitor").write_text(f"{os.getpid()} 1 v\n")
    fire(home, f'AGENTS_HOME="{ROOT}"; AGENTS_RUN="{path.parent}"; . "{ROOT}/scripts/poke"')


@pytest.mark.parametrize("caller", ["hook", "poke"])
def test_a_full_fifo_holds_nobody(caller: str, home: Home, listening: Poke) -> None:
    """Filled while its flag was down: the byte waits in the background until somebody reads."""
    with pytest.raises(BlockingIOError):
        while True:
            os.write(listening.fileno(), b"x" * 4096)
    run = listening.path.parent
    (run / "monitor").write_text(f"{os.getpid()} 1 v\n")
    poke = f'AGENTS_HOME="{ROOT}"; AGENTS_RUN="{run}"; . "{ROOT}/scripts/poke"'
    fire(home, f'exec sh "{HOOK}" claude Stop' if caller == "hook" else poke)
    wait_for(listening.flag.exists)
    while listening.drain():  # what waits gets through, and ends
        time.sleep(0.05)


@planted
@pytest.mark.parametrize("below", ["", "servers", "spool"])
def test_what_lies_in_place_of_our_directories_holds_no_hook(
    below: str, plant: Callable[[Path], object], home: Home
) -> None:
    """And what the agent sends is read: a closed pipe kills some."""
    state = home.spool.parent
    (state / below).parent.mkdir(parents=True, exist_ok=True)
    plant(state / below)
    fire(home, f'exec sh "{HOOK}" claude Stop', payload=b"x" * 300_000)


@pytest.mark.parametrize(
    ("words", "env"),
    [("claude Stop", {"HOME": ""}), ("'A b' Stop", {}), ("claude 'S;p'", {}), ("claude Stop", {"HOME": "/dev/null"})],
    ids=["no-home", "odd-agent", "odd-event", "home-is-a-device"],
)
def test_what_an_agent_sends_is_read_when_nothing_comes_of_it(words: str, env: dict[str, str], home: Home) -> None:
    process = subprocess.Popen(["sh", "-c", f'exec sh "{HOOK}" {words}'], stdin=subprocess.PIPE, env=home.env | env)
    assert process.stdin is not None
    process.stdin.write(b"x" * 1_000_000)  # a BrokenPipeError here is what kills agents
    process.stdin.close()
    assert process.wait(SECONDS) == 0


@planted
def test_what_lies_in_place_of_the_plugin_holds_no_wrapper(
    plant: Callable[[Path], object], home: Home, tmp_path: Path
) -> None:
    (tmp_path / "plugin" / "scripts").mkdir(parents=True)
    plant(tmp_path / "plugin" / "scripts" / "agent-hook")
    place = tmp_path / "wrapper"
    place.write_text(wrapper.text(tmp_path / "plugin"))
    if plant in (_huge, _unwritable):
        pytest.skip("a program of the user's own")
    fire(home, f'exec sh "{place}" claude Stop', payload=b"x" * 300_000)
