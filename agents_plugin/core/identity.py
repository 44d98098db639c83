"""Which agent owns a pane: pin > live registration > foreground process > process tree > title.

Pure: a process table goes in, an `Identity` comes out. `host/processes.py` reads the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agents_plugin.core import programs
from agents_plugin.core.evidence import Identity, PaneRow
from agents_plugin.core.manifest import Manifest, Signature
from agents_plugin.core.programs import Program
from agents_plugin.core.reporter import is_shell, sets_options
from agents_plugin.core.trees import Proc, Table, ancestry, children, first_alive, root_of, same_process, subtree

_MAX_DEPTH = 64
_COMMAND_CHARS = 400  # a session named at the end must be in it
#: Words that make an agent's binary a server for other programs: `codex app-server`, `gemini --acp`.
_SERVERS = ("app-server", "mcp-server", "exec-server", "--acp", "--experimental-acp")
_SERVER_COMMANDS = frozenset(("acp", "completion", "daemon", "mcp", "serve", "server"))


@dataclass(frozen=True)
class Hit:
    """A process that is an agent: which, whether non-interactive, and how directly its command line says so."""

    agent: str
    headless: bool
    direct: bool  # false: seen through a wrapper whose child will be the agent
    script: bool  # code run by an interpreter


def recognise(proc: Proc, manifests: Sequence[Manifest], title: str | None = None) -> Hit | None:
    """Which agent a process is, by its own facts. `title` narrows manifests that ask for one; None: do not narrow."""
    if proc.zombie:
        return None
    what = programs.program(proc.comm, proc.argv, proc.exe)
    if what.shell:
        return None
    candidates = _index(manifests).candidates(what, proc.exe)
    if not candidates or _serves(what):
        return None
    places = [_by_place(what, proc, manifest.identity) for manifest in candidates]
    for placed, manifest in sorted(zip(places, candidates, strict=True), key=lambda pair: not pair[0]):
        spec = manifest.identity
        if not placed and not _by_name(what, spec, title):
            continue
        if any(programs.says(what.args, phrase) for phrase in spec.not_argv):
            continue
        headless = any(programs.says(what.args, phrase) for phrase in spec.headless)
        return Hit(manifest.id, headless, what.direct, what.script)
    return None


class _Index:
    """Which manifests a word can lead to: most processes share none with any, the others with one."""

    def __init__(self, manifests: Sequence[Manifest]) -> None:
        self.of = manifests
        self.names: dict[str, set[int]] = {}
        self.heads: dict[str, set[int]] = {}  # last components of scripts and executables, the rarest ones
        self.modules: dict[str, set[int]] = {}
        for number, manifest in enumerate(manifests):
            spec = manifest.identity
            for name in spec.names:
                self.names.setdefault(name, set()).add(number)
            for parts in (*spec.scripts, *spec.exe):
                self.heads.setdefault(parts[-1], set()).add(number)
            for module in spec.modules:
                self.modules.setdefault(module, set()).add(number)

    def candidates(self, what: Program, exe: str) -> Sequence[Manifest]:
        """The manifests that may match, in their order."""
        if any(len(name) in programs.TRUNCATED for name in what.names):
            return self.of
        found: set[int] = set()
        for name in what.names:
            found |= self.names.get(name, _NONE)
        if what.module:
            found |= self.modules.get(what.module.split(".", 1)[0], _NONE)
        for path in (exe, *what.paths):
            for part in programs.components(path):
                found |= self.heads.get(part, _NONE)
        return [self.of[number] for number in sorted(found)]


_NONE: frozenset[int] = frozenset()
_indexes: list[_Index] = []


def _index(manifests: Sequence[Manifest]) -> _Index:
    """The index of a set of manifests; the last one asked for is kept."""
    if not _indexes or _indexes[0].of is not manifests:
        _indexes[:] = [_Index(manifests)]
    return _indexes[0]


def identify(
    pane: PaneRow,
    table: Table,
    foreground: int | None,
    manifests: Sequence[Manifest],
    known: Identity | None = None,
    registered: str = "",
    reporter: int | None = None,
) -> Identity | None:
    """The owner of a pane, or None.

    `table` holds at least the processes below `pane.pane_pid`, with arguments. `foreground` is the foreground process
    group of the pane's terminal, None when unknown. `known` is the last answer for this pane; it stands while its
    process lives. `registered` is the name under which a live report registered the pane, `reporter` the process that
    the report lives with, where that is known.
    A remote or nested session in the foreground gives an identity with `remote` set; its `agent` may be "".
    """
    if "@agent_ignore" in pane.options:
        return None
    found = _by_process(pane, table, foreground, manifests, known)
    hint = pane.options.get("@agent_hint", "")
    pin = next((m.id for m in manifests if hint and (hint == m.id or hint in m.aliases)), "")
    if pin:
        owner = found if found and found.agent == pin else _occupant(pane, table, foreground, found)
        return replace(owner, agent=pin, how="hint", headless=owner.headless and owner.agent == pin) if owner else None
    if registered:
        owner = found or _reporter(reporter, table) or _occupant(pane, table, foreground, found)
        owner = owner or Identity("", "", pid=pane.pane_pid)
        return replace(owner, agent=registered, how="registered", headless=False)
    return found


def pane_of(pid: int, table: Table, pane_pids: Mapping[int, str]) -> str | None:
    """The pane whose process tree holds `pid`; None without proof. `pane_pids` maps a pane's first pid to its id.

    A chain through an agent's shared server proves nothing: Codex runs hooks of every pane in the first one's daemon.
    """
    for proc in ancestry(pid, table):
        if _serves(programs.program(proc.comm, proc.argv, proc.exe)):
            return None
        if proc.pid in pane_pids:
            return pane_pids[proc.pid]
    return None


def pane_of_event(
    ancestors: Iterable[tuple[int, float | None]], at_ms: int, table: Table, pane_pids: Mapping[int, str]
) -> tuple[str, int] | None:
    """(pane, first recorded ancestor still alive) of a hook event, or None: never a guess.

    `ancestors` are (pid, start) as the hook recorded them, nearest first. Passed over: those that ended, and later
    processes with their pids, which is what began after the event at `at_ms`.
    """
    found = first_alive(ancestors, at_ms, table)
    pane = pane_of(found[0].pid, table, pane_pids) if found else None
    return (pane, found[0].pid) if pane and found else None


def shared_server(ancestors: Iterable[tuple[int, float | None]], at_ms: int, table: Table) -> bool:
    """Whether a hook event comes from an agent's server that serves several panes: then ancestry proves nothing."""
    found = first_alive(ancestors, at_ms, table)
    above = ancestry(found[0].pid, table) if found else ()
    return any(_serves(programs.program(one.comm, one.argv, one.exe)) for one in above)


def speaks_for(pid: int, owner: int, table: Table, manifests: Sequence[Manifest]) -> bool:
    """Whether an event from `pid` is the word of the pane's agent `owner`, not of an agent it started in a tool call.

    Between the two may stand processes of the same agent, each the child of the next (launcher and binary), with the
    same arguments: a headless run is none of them, though the owner started it itself.
    """
    inner: tuple[Proc, Hit] | None = None
    for proc in ancestry(pid, table):
        hit = recognise(proc, manifests)
        if hit and inner and (hit.agent != inner[1].agent or inner[0].ppid != proc.pid):
            return False
        if proc.pid == owner:
            return not (hit and inner and inner[1].headless and not hit.headless)
        inner = (proc, hit) if hit else inner
    # An owner that is the binary below a launcher: the launcher itself may speak too.
    return inner is not None and owner in table and table[owner].ppid == inner[0].pid


@dataclass
class _Walk:
    """A pane's tree down to its outermost agents."""

    agents: list[tuple[Proc, Hit, tuple[Proc, ...]]] = field(default_factory=list)  # process, hit, ancestors
    others: list[tuple[Proc, Program]] = field(default_factory=list)  # what is not (below) an agent


def _walk(root: int, table: Table, manifests: Sequence[Manifest], title: str) -> _Walk:
    walk, below, seen = _Walk(), children(table), {root}
    present = root in table or root in below
    queue: list[tuple[Proc, tuple[Proc, ...]]] = [(root_of(root, table), ())] if present else []
    for proc, above in queue:
        hit = recognise(proc, manifests, title)
        if hit:
            walk.agents.append(_innermost(proc, hit, above, below, manifests))
            continue
        what = programs.program(proc.comm, proc.argv, proc.exe)
        if not proc.zombie and proc.pid in table and not sets_options(proc):
            walk.others.append((proc, what))
        if programs.HOSTS.isdisjoint(what.names) and len(above) < _MAX_DEPTH:
            fresh = [child for child in below.get(proc.pid, ()) if child.pid not in seen]
            seen.update(child.pid for child in fresh)
            queue.extend((child, (*above, proc)) for child in fresh)
    return walk


def _innermost(
    proc: Proc, hit: Hit, above: tuple[Proc, ...], below: Mapping[int, list[Proc]], manifests: Sequence[Manifest]
) -> tuple[Proc, Hit, tuple[Proc, ...]]:
    """From a wrapper or a launching script down to the agent itself, whose pid its records and hooks carry."""
    for _ in range(_MAX_DEPTH):
        for child in below.get(proc.pid, ()):
            inner = recognise(child, manifests)
            if inner is None and not hit.direct:
                shell = programs.program(child.comm, child.argv, child.exe)
                inner = replace(hit) if not shell.direct and not child.zombie else None  # npx > sh -c > agent
                inner = inner if inner and below.get(child.pid) else None
            if inner is None or inner.agent != hit.agent or inner.headless != hit.headless:
                continue
            if not hit.direct or (hit.script and not inner.script):
                proc, hit, above = child, inner, (*above, proc)
                break
        else:
            break
    return proc, hit, above


def _by_process(
    pane: PaneRow, table: Table, foreground: int | None, manifests: Sequence[Manifest], known: Identity | None
) -> Identity | None:
    walk = _walk(pane.pane_pid, table, manifests, pane.title)
    held = _held(known, walk, table)
    best: tuple[tuple[bool, ...], Identity] | None = None
    for proc, hit, above in walk.agents:
        groups = _groups(proc, above)
        front = foreground in groups if foreground is not None else _fronted(pane, proc, above, walk)
        known_pid = known is not None and known.pid == proc.pid
        identity = _identity(proc, hit.agent, "foreground" if front else "tree", front, groups, hit.headless)
        rank = (front, not hit.headless, known_pid)
        if best is None or rank > best[0]:
            best = (rank, identity)
    if best and best[1].foreground:
        return best[1]
    if held is not None:
        return _reheld(held[0], held[1], foreground)
    if best:
        return best[1]
    remote = _remote(pane, walk, foreground)
    guess = _by_title(pane, walk, foreground, manifests, bool(remote))
    if remote:
        return Identity(guess, "title" if guess else "foreground", remote[1], remote[2], remote=remote[0])
    if not table and not guess:
        return _by_command(pane, manifests)
    front_proc = _front(walk, foreground)
    if guess:
        return _identity(front_proc, guess, "title", True) if front_proc else Identity(guess, "title")
    return None


def _held(known: Identity | None, walk: _Walk, table: Table) -> tuple[Identity, Proc] | None:
    """The known agent when its process still lives in this tree though nothing says what it is any more."""
    if known is None or known.pid is None or not known.agent or known.remote or known.how in ("hint", "registered"):
        return None
    proc = table.get(known.pid)
    if proc is None or not same_process(proc, known.started):
        return None
    for other, what in walk.others:
        if other.pid == proc.pid:
            plain = what.shell or not programs.HOSTS.isdisjoint(what.names)  # it became a shell, or ssh
            return None if plain else (known, proc)
    return None


def _reheld(known: Identity, proc: Proc, foreground: int | None) -> Identity:
    groups = known.groups | {proc.pgrp}
    front = foreground in groups if foreground is not None else known.foreground
    return replace(known, foreground=front, groups=groups, stopped=proc.stopped)


def _groups(proc: Proc, above: tuple[Proc, ...]) -> frozenset[int]:
    """Process groups that mean "the agent has the terminal": its own, and those of what merely launched it.

    sudo runs its command on a terminal of its own, so there the pane's foreground group stays sudo's.
    """
    groups = {proc.pgrp}
    for parent in reversed(above):
        if programs.program(parent.comm, parent.argv, parent.exe).shell:
            break
        groups.add(parent.pgrp)
    return frozenset(groups)


def _fronted(pane: PaneRow, proc: Proc, above: tuple[Proc, ...], walk: _Walk) -> bool:
    """Without a foreground group: tmux's own name for the pane's command, which may lag and show the shell."""
    command = programs.normalise(pane.command)
    if not command or command in programs.SHELLS:
        return True
    own = {pid.pid for pid in (*above, proc)}
    return not any(command in what.names and other.pid not in own for other, what in walk.others)


def _remote(pane: PaneRow, walk: _Walk, foreground: int | None) -> tuple[str, int | None, float | None] | None:
    away = programs.REMOTE | programs.MULTIPLEXERS
    for proc, what in walk.others:
        name = next((name for name in what.names if name in away), None)
        if name and (foreground is None or proc.pgrp == foreground):
            return name, proc.pid, proc.started
    command = programs.normalise(pane.command)
    return (command, None, None) if not walk.others and not walk.agents and command in away else None


def _front(walk: _Walk, foreground: int | None) -> Proc | None:
    """The first process of the foreground group, or the only one there is."""
    members = [proc for proc, _ in walk.others if proc.pgrp == foreground]
    if foreground is None and walk.others:
        members = [walk.others[-1][0]]
    return members[0] if members else None


def _by_title(pane: PaneRow, walk: _Walk, foreground: int | None, manifests: Sequence[Manifest], remote: bool) -> str:
    """An agent by title alone: only for a program whose arguments nobody lets us read, or at the far end of ssh.

    A title outlives its agent, so it proves nothing over a shell or a program we can read.
    """
    front = _front(walk, foreground)
    command = programs.normalise(pane.command)
    unreadable = command not in programs.SHELLS and command != "" and (front is None or not front.argv)
    if not remote and not unreadable:
        return ""
    for manifest in manifests:
        if manifest.identity.title is not None and manifest.identity.title.search(pane.title):
            return manifest.id
    return ""


def _by_command(pane: PaneRow, manifests: Sequence[Manifest]) -> Identity | None:
    """No process could be read: tmux's name of the command is all there is."""
    hit = recognise(Proc(0, 0, 0, pane.command), manifests, pane.title) if pane.command else None
    return Identity(hit.agent, "foreground", command=pane.command) if hit else None


def _reporter(pid: int | None, table: Table) -> Identity | None:
    """The program a report lives with; a shell without its start: it owns nothing, it only was typed in."""
    proc = table.get(pid or 0)
    if proc is not None and is_shell(proc):
        return Identity("", "", pid=pid)
    return _identity(proc, "", "", True, _groups(proc, ())) if proc else None


def _occupant(pane: PaneRow, table: Table, foreground: int | None, found: Identity | None) -> Identity | None:
    """Whatever program fills a pinned pane; None when only a shell is left in it."""
    if found is not None:
        return found
    tree = subtree(pane.pane_pid, table)
    if not tree:
        shell = programs.normalise(pane.command) in programs.SHELLS
        return None if shell or pane.dead else Identity("", "", command=pane.command)
    for proc in tree:
        what = programs.program(proc.comm, proc.argv, proc.exe)
        if not (what.shell or proc.zombie or sets_options(proc)) and foreground in (None, proc.pgrp):
            return _identity(proc, "", "", True, _groups(proc, ()))
    return None


def _identity(
    proc: Proc, agent: str, how: str, front: bool, groups: frozenset[int] = frozenset(), headless: bool = False
) -> Identity:
    command = " ".join(proc.argv)[:_COMMAND_CHARS] or proc.comm
    return Identity(agent, how, proc.pid, proc.started, front, headless, command, None, groups, proc.stopped)


def _serves(what: Program) -> bool:
    first = what.args[0] if what.args else ""
    return first in _SERVER_COMMANDS or any(programs.says(what.args, word) for word in _SERVERS)


def _by_place(what: Program, proc: Proc, spec: Signature) -> bool:
    if what.module and what.module.split(".", 1)[0] in spec.modules:
        return True
    if any(programs.has_components(path, parts) for path in what.paths for parts in spec.scripts):
        return True
    places = (proc.exe, *what.paths) if what.direct and not what.script else what.paths
    return any(programs.has_components(place, parts) for place in places for parts in spec.exe)


def _by_name(what: Program, spec: Signature, title: str | None) -> bool:
    if not any(programs.same_name(name, wanted) for name in what.names for wanted in spec.names):
        return False
    if spec.argv and not any(programs.says(what.args, phrase) for phrase in spec.argv):
        return False
    return title is None or spec.title is None or spec.title.search(title) is not None
