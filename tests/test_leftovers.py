"""What servers that are gone left behind goes; what may be alive elsewhere (a container, another machine) stays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agents_plugin.host import directories
from agents_plugin.host.leftovers import remove_stale
from agents_plugin.host.runtime import Runtime, host, open_runtime, read_origin
from tests.support import ROOT

HOUR, MONTH = 3600, 31 * 86_400
FOREIGN = "4242.0badcafe-77"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    (tmp_path / "run").mkdir(mode=0o700)
    return {"HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path / "run"), "TMPDIR": str(tmp_path)}


@pytest.fixture
def here(env: dict[str, str]) -> Runtime:
    return open_runtime(os.getpid(), env)


@pytest.fixture
def links(env: dict[str, str]) -> Path:
    place = Path(env["HOME"]) / ".local/state/agents.tmux/servers"
    place.mkdir(mode=0o700, parents=True)
    return place


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    for each in [*path.iterdir(), path] if path.is_dir() and not path.is_symlink() else [path]:
        os.utime(each, (then, then), follow_symlinks=False)


def foreign(base: Path, boot: str = "0badcafe-of-another", name: str = FOREIGN, machine: str = "") -> Runtime:
    place = base / name
    place.mkdir(mode=0o700)
    (place / "origin").write_text(f"boot={boot}\nnamespace=77\nhost={machine or 'elsewhere'}\n")
    return Runtime(place, 4242)


def test_left_overs_of_dead_servers_are_removed(here: Runtime, env: dict[str, str], links: Path) -> None:
    done = subprocess.Popen(["true"])
    done.wait()
    dead = open_runtime(done.pid, env)
    dead.problem("x", "y")
    dead.announce(env)
    here.announce(env)
    (here.path.parent / "notes").mkdir()
    remove_stale(env)
    assert sorted(path.name for path in here.path.parent.iterdir()) == sorted([here.path.name, "notes"])
    assert [path.name for path in links.iterdir()] == [here.path.name]
    remove_stale({})


@pytest.mark.parametrize(
    ("silent", "held", "goes"),
    [(True, False, True), (False, False, False), (True, True, False)],
    ids=["old", "fresh", "old-with-a-helper"],
)
def test_a_pid_that_is_no_tmux_by_now(silent: bool, held: bool, goes: bool, here: Runtime, env: dict[str, str]) -> None:
    lock = here.lock("1") if held else None
    if silent:
        age(here.path, 2 * HOUR)
    remove_stale(env)
    assert here.path.exists() is not goes
    if lock:
        lock.release()


@pytest.mark.parametrize("name", [FOREIGN, "4242", "4242.0badcafe-"])
@pytest.mark.parametrize(("silent", "goes"), [(0, False), (2 * HOUR, False), (MONTH, True)])
def test_a_server_that_cannot_be_looked_at_stays_as_long_as_it_may_live(
    silent: float, goes: bool, name: str, here: Runtime, env: dict[str, str]
) -> None:
    other = foreign(here.path.parent, name=name)
    age(other.path, silent)
    remove_stale(env)
    assert other.path.exists() is not goes


def test_a_lock_that_is_held_is_life(here: Runtime, env: dict[str, str]) -> None:
    """Its holder's pid may mean nothing here: the lock itself is asked."""
    other = foreign(here.path.parent)
    lock = other.lock("1")
    assert lock is not None
    (other.path / "monitor").write_text("1 1 1\n")
    age(other.path, MONTH)
    remove_stale(env)
    assert other.path.exists()
    lock.release()
    age(other.path, MONTH)
    remove_stale(env)
    assert not other.path.exists()


@pytest.mark.parametrize(
    ("same_host", "same_boot", "silent", "goes"),
    [
        (True, False, 2 * HOUR, True),
        (True, False, 60, False),
        (False, False, 2 * HOUR, False),
        (True, True, 2 * HOUR, False),
    ],
    ids=["before-the-last-start", "just-written", "another-machine", "another-namespace"],
)
def test_the_same_machine_before_it_was_started_anew(
    same_host: bool, same_boot: bool, silent: float, goes: bool, here: Runtime, env: dict[str, str]
) -> None:
    boot = directories.boot_id() if same_boot else "0badcafe-of-before"
    other = foreign(here.path.parent, boot, machine=host() if same_host else "")
    age(other.path, silent)
    remove_stale(env)
    assert other.path.exists() is not goes


def test_where_a_directory_was_made_is_noted_in_it(here: Runtime) -> None:
    origin = read_origin(here.path)
    assert origin is not None
    assert (origin.boot, origin.namespace, origin.host) == (directories.boot_id(), directories.namespace(), host())
    (here.path / "origin").write_text("boot=1\n")
    assert read_origin(here.path) is None


def test_a_link_of_another_machine_stays(here: Runtime, env: dict[str, str], links: Path) -> None:
    """A home on two machines: the other one's runtime directory is never to be seen here."""
    here.announce(env)
    (links / FOREIGN).symlink_to("/run/elsewhere")
    (links / directories.key(999_999)).symlink_to("/run/gone")
    remove_stale(env)
    assert {link.name for link in links.iterdir()} == {here.path.name, FOREIGN}
    age(links / FOREIGN, MONTH)
    remove_stale(env)
    assert {link.name for link in links.iterdir()} == {here.path.name}


def test_a_link_in_use_is_touched_once_a_day(here: Runtime, env: dict[str, str], links: Path) -> None:
    here.announce(env)
    link = links / here.path.name
    age(link, HOUR)
    before = link.lstat().st_mtime
    here.announce(env)
    assert link.lstat().st_mtime == before
    age(link, 2 * 86_400)
    here.announce(env)
    assert time.time() - link.lstat().st_mtime < HOUR
    link.unlink()
    here.announce(env)
    assert link.is_symlink()


INSIDE = """
import json, os, subprocess, sys
from agents_plugin.host.directories import key
from agents_plugin.host.leftovers import remove_stale
from agents_plugin.host.runtime import open_runtime
ask = f'. "{sys.argv[1]}/scripts/lib.sh"; agents_runtime; echo "$AGENTS_RUN"'
env = {**os.environ, "TMUX": "/s,4242,0"}
shell = subprocess.run(["sh", "-c", ask], env=env, capture_output=True, text=True).stdout
remove_stale()
print(json.dumps([shell.strip(), str(open_runtime(4242).path)]))
"""


@pytest.fixture
def container() -> list[str]:
    """A pid namespace of its own, with the same user, home and runtime directory."""
    command = ["unshare", "-p", "-f", "--mount-proc"]
    allowed = (
        shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    )
    if not allowed:
        pytest.skip("no pid namespace can be made here")
    return command


def test_a_container_leaves_the_hosts_server_alone(
    container: list[str], here: Runtime, env: dict[str, str], links: Path
) -> None:
    """No process of the host is to be seen in there; two servers of one pid have two directories."""
    lock = here.lock("1")
    assert lock is not None
    here.announce(env)
    mine = open_runtime(4242, env)
    mine.problem("x", "y")
    inside = subprocess.run(
        [*container, sys.executable, "-c", INSIDE, str(ROOT)],
        env=os.environ | env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    shell, python = json.loads(inside.stdout)
    assert shell == python != str(mine.path)
    assert Path(python).parent == mine.path.parent
    assert (here.path / "monitor").exists() and mine.problems() == {"x": "y"}
    assert {link.name for link in links.iterdir()} == {here.path.name}
    remove_stale(env)
    assert Path(python).is_dir()
    lock.release()
