"""Which agent owns each pane, kept from pass to pass: a process tree is walked only when something about it changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agents_plugin.core.evidence import Identity, PaneRow
from agents_plugin.core.guard import RunawayError
from agents_plugin.core.identity import identify
from agents_plugin.core.manifest import Manifest
from agents_plugin.core.trees import Proc, children
from agents_plugin.host import processes
from agents_plugin.host.faults import Faults
from agents_plugin.host.guard import AlarmGuard

#: A program that prints may have become an agent without another name (a wrapper script): looked at this often.
REWALK_MS = 2_000
_NOBODY: Mapping[str, int | None] = {}


@dataclass
class _Owner:
    key: tuple[object, ...]
    identity: Identity | None
    group: int | None  # foreground process group when the tree was walked
    activity: int
    walked_mono: int


class Owners:
    """The owners of all panes of one server."""

    def __init__(self, faults: Faults | None = None, guard: AlarmGuard | None = None) -> None:
        self._faults = faults or Faults()
        self._guard = guard or AlarmGuard()
        self._known: dict[str, _Owner] = {}
        self._titled: tuple[Manifest, ...] = ()

    def resolve(
        self,
        panes: Iterable[PaneRow],
        manifests: Sequence[Manifest],
        registered: Mapping[str, str],
        mono_ms: int,
        reporters: Mapping[str, int | None] = _NOBODY,
    ) -> dict[str, Identity | None]:
        """The owner of each pane by pane id. `registered` names the agents of panes with a live report, `reporters` are
        the processes that reports live with.

        A known agent costs two reads of /proc; one sweep of all processes serves every tree that has to be walked.
        A pane whose owner cannot be told, because looking for it failed, is left out.
        """
        manifests = self.trusted(manifests)
        rows = {row.pane_id: row for row in panes}
        self._known = {pane: owner for pane, owner in self._known.items() if pane in rows}
        stale: list[PaneRow] = []
        for row in rows.values():
            with self._faults.item(f"pane {row.pane_id}"):
                key = self._key(row, manifests, registered, reporters)
                stale += [row] if self._stale(row, key, mono_ms) else []
        if stale:
            self._walk(stale, manifests, registered, reporters, mono_ms)
        return {pane: self._known[pane].identity for pane in rows if pane in self._known}

    def trusted(self, manifests: Sequence[Manifest]) -> Sequence[Manifest]:
        """The manifests; one whose `identity.title` ran away lately matches no title. The same object, if it can be."""
        if not any(self._guard.barred(manifest.identity) for manifest in manifests):
            return manifests
        titled = tuple(_untitled(one) if self._guard.barred(one.identity) else one for one in manifests)
        if [one.identity for one in titled] != [one.identity for one in self._titled]:
            self._titled = titled
        return self._titled

    def _key(
        self,
        row: PaneRow,
        manifests: Sequence[Manifest],
        registered: Mapping[str, str],
        reporters: Mapping[str, int | None],
    ) -> tuple[object, ...]:
        said = (registered.get(row.pane_id), reporters.get(row.pane_id))
        pins = (row.options.get("@agent_hint"), "@agent_ignore" in row.options, *said)
        return (row.pane_pid, row.command, row.dead, manifests, *pins)

    def _stale(self, row: PaneRow, key: tuple[object, ...], mono_ms: int) -> bool:
        owner = self._known.get(row.pane_id)
        if owner is None or owner.key != key:
            return True
        identity = owner.identity
        if identity is not None and identity.pid is not None:
            proc = processes.glance(identity.pid, identity.started)
            if proc is None:
                return True
            if proc.stopped is not identity.stopped:
                owner.identity = identity = replace(identity, stopped=proc.stopped)
            # The agent's own terminal is the pane's, but for one behind sudo, which gives it another.
            group = proc.tpgid if len(identity.groups) == 1 else None
            group = processes.foreground_group(row.pane_pid) if group is None else group
            if group is None or not identity.groups:
                return group != owner.group
            if identity.foreground is not (group in identity.groups):
                owner.identity = replace(identity, foreground=not identity.foreground)
            # Another program in front may be an agent of its own; the same one again is not looked at twice.
            changed = group not in identity.groups and group != owner.group
            owner.group = group
            return changed
        if row.window_activity == owner.activity or mono_ms - owner.walked_mono < REWALK_MS:
            return False
        group = processes.foreground_group(row.pane_pid)
        if group is not None and group == owner.group == row.pane_pid:
            owner.activity, owner.walked_mono = row.window_activity, mono_ms  # the shell itself: nothing was started
            return False
        return True

    def _walk(
        self,
        rows: Sequence[PaneRow],
        manifests: Sequence[Manifest],
        registered: Mapping[str, str],
        reporters: Mapping[str, int | None],
        mono_ms: int,
    ) -> None:
        table = processes.sweep()
        below = children(table)
        # The sweep has read the groups already where the system tells them per process.
        swept = {row.pane_pid: table[row.pane_pid].tpgid for row in rows if row.pane_pid in table}
        missing = [row.pane_pid for row in rows if swept.get(row.pane_pid) is None]
        groups = {**swept, **processes.foreground_groups(missing)}
        for row in rows:
            known = self._known.pop(row.pane_id, None)
            group = groups.get(row.pane_pid)
            with self._faults.item(f"pane {row.pane_id}"):
                tree = processes.detailed(row.pane_pid, table, below)
                said = (registered.get(row.pane_id, ""), reporters.get(row.pane_id))
                identity = self._identify(row, tree, group, manifests, known.identity if known else None, said)
                key = self._key(row, manifests, registered, reporters)
                self._known[row.pane_id] = _Owner(key, identity, group, row.window_activity, mono_ms)

    def _identify(
        self,
        row: PaneRow,
        tree: Mapping[int, Proc],
        group: int | None,
        manifests: Sequence[Manifest],
        known: Identity | None,
        said: tuple[str, int | None],
    ) -> Identity | None:
        try:
            with self._guard.limit():
                return identify(row, tree, group, manifests, known, *said)
        except RunawayError:
            self._find_runaway(row.title, manifests)
        with self._guard.limit():
            return identify(row, tree, group, self.trusted(manifests), known, *said)

    def _find_runaway(self, title: str, manifests: Sequence[Manifest]) -> None:
        """Bars the titles that take too long: which of them ran is not known where they run."""
        for manifest in manifests:
            if manifest.identity.title is not None:
                try:
                    with self._guard.limit():
                        manifest.identity.title.search(title)
                except RunawayError:
                    self._guard.stopped(manifest.identity, f"{manifest.origin or manifest.id}: identity.title")


def _untitled(manifest: Manifest) -> Manifest:
    return replace(manifest, identity=replace(manifest.identity, title=_NEVER))


_NEVER = re.compile(r"(?!)")
