"""`agents uninstall`: everything of ours goes out of the server; `--purge` also removes what was made in your home.

`agents uninstall AGENT…` only takes our entries out of these agents' configuration.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agents_plugin import server
from agents_plugin.core.evidence import Snapshot
from agents_plugin.core.plan import PUBLISHED
from agents_plugin.doctor.machine import HOME, data_dir
from agents_plugin.host.directories import state_dir
from agents_plugin.host.runtime import find_runtime
from agents_plugin.reach import Refused, guarded, runner_of
from agents_plugin.terminal import emit
from agents_plugin.tmux.contract import GLOBAL_OPTIONS
from agents_plugin.tmux.listing import observe
from agents_plugin.tmux.probe import Installed, installed
from agents_plugin.tmux.runner import Runner, ServerGone

NAME = "uninstall"
HELP = "take everything of ours out of the tmux server"

#: The one implementation, which also works without Python.
SCRIPT = HOME / "scripts" / "uninstall"
_PATIENCE_S = 60.0


def configure(parser: ArgumentParser) -> None:
    """Adds the options."""
    server.configure(parser)
    purge = "also remove our entries in agents' configuration, the Python environment and waiting events"
    parser.add_argument("--purge", action="store_true", help=purge)
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="only take our entries out of its configuration")
    parser.add_argument("--yes", action="store_true", help="with AGENT: do not ask")


def run(args: Namespace) -> int:
    """Removes and says what; twice is fine. 1 when there is no server (`--purge` still purges) or something is left."""
    if args.agents:
        from agents_plugin.commands import install

        return install.run(Namespace(agents=args.agents, all=False, remove=True, yes=args.yes, dry_run=False))
    return guarded(NAME, args, lambda found: _run(args, found))


@dataclass(frozen=True)
class _State:
    """What there is of ours, as counts and names."""

    have: Installed
    stamped: int
    above: bool
    hidden: int
    monitor: int | None
    runtime: Path

    @property
    def nothing(self) -> bool:
        """Whether no trace is left in the server."""
        have = self.have
        written = have.hooks or have.aliases or have.own_keys or _shown(have)
        return not (written or self.stamped or self.above or self.hidden or self.monitor or self.runtime.exists())


def _run(args: Namespace, found: server.Target) -> int:
    try:
        runner = runner_of(found)
        before = _look(runner)
    except ServerGone:
        if args.purge:
            emit(list(_purge(found, None)))
            return 0
        raise
    pid, _ = before
    state = before[1]
    lines = ["nothing of ours is in this server"] if state.nothing else []
    if not state.nothing:
        _script(found, pid)
    removed = list(_purge(found, pid)) if args.purge else []
    after = _look(runner)[1]
    emit([*lines, *_said(state, after), *removed])
    if not after.nothing:
        raise Refused("something is left: " + ", ".join(_left(after)))
    emit(["To keep it out, remove its line from tmux.conf."])
    return 0


def _look(runner: Runner) -> tuple[int, _State]:
    snapshot = observe(runner)
    runtime = find_runtime(snapshot.server_pid)
    holder = runtime.holder()
    stamped = sum(any(name in row.options for name in PUBLISHED) for row in snapshot.panes)
    return snapshot.server_pid, _State(
        installed(runner),
        stamped,
        _above(snapshot),
        len(snapshot.environment),
        holder.pid if holder else None,
        runtime.path,
    )


def _above(snapshot: Snapshot) -> bool:
    """Whether a rollup stands on a window, a session or the server."""
    rows = any(row.window_summary or row.window_attention or row.session_summary for row in snapshot.panes)
    return rows or any(name in snapshot.globals for name in GLOBAL_OPTIONS)


def _script(found: server.Target, pid: int, *arguments: str) -> None:
    environment = {**os.environ, "TMUX": f"{found.socket},{pid},0"}
    try:
        subprocess.run(
            ["/bin/sh", str(SCRIPT), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(f"{SCRIPT}: {error}") from error


def _purge(found: server.Target, pid: int | None) -> Iterator[str]:
    """Remove what was made in the user's home; of agents' files our entries, and only directories of our name."""
    from agents_plugin.commands.install import take_out
    from agents_plugin.integrations.work import installed_anywhere

    yield from take_out(installed_anywhere(os.environ))
    for place in (data_dir(os.environ), state_dir()):
        if place is None or place.name != "agents.tmux" or not place.is_dir():
            continue
        shutil.rmtree(place, ignore_errors=True)  # follows no link
        yield f"could not remove {place}" if place.exists() else f"removed {place}"


def _shown(have: Installed) -> bool:
    return any("AGENTS_DRIVE" in text or "#{@agents_status}" in text for text in (have.status_left, have.status_right))


def _said(before: _State, after: _State) -> Iterator[str]:
    have = before.have
    if have.hooks - after.have.hooks:
        yield f"removed hooks: {', '.join(sorted(have.hooks - after.have.hooks))}"
    keys = [key for key in have.own_keys if key not in after.have.own_keys]
    if keys:
        yield f"removed keys: prefix {', prefix '.join(keys)}"
    if len(have.aliases) > len(after.have.aliases):
        yield f"removed {len(have.aliases) - len(after.have.aliases)} command aliases"
    if _shown(have) and not _shown(after.have):
        yield "status line: as you wrote it"
    if before.monitor and not after.monitor:
        yield f"stopped the helper (process {before.monitor})"
    cleared = before.stamped - after.stamped
    if cleared > 0:
        yield f"removed the states of {cleared} pane{'' if cleared == 1 else 's'}"
    if before.above and not after.above:
        yield "removed the summaries"
    if before.runtime.exists() or not after.nothing:
        return
    if not before.nothing:
        yield f"removed {before.runtime}"


def _left(state: _State) -> Iterator[str]:
    have = state.have
    named = {
        "hooks": bool(have.hooks),
        "keys": bool(have.own_keys),
        "aliases": bool(have.aliases),
        "the status line": _shown(have),
        "states": bool(state.stamped),
        "summaries": state.above,
        "hidden variables": bool(state.hidden),
        "the helper": bool(state.monitor),
        str(state.runtime): state.runtime.exists(),
    }
    return (name for name, there in named.items() if there)
