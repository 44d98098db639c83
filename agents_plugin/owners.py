"""Which agent owns each pane, kept from pass to pass: a process tree is walked only when something about it changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agents_plugin.core.evidence import Identity, PaneRow
from agents_plugin.core.identity import identify
from agents_plugin.core.manifest import Manifest
from agents_plugin.core.trees import children
from agents_plugin.host import processes

#: A program that prints may have become an agent without another name (a wrapper script): looked at this often.
REWALK_MS = 2_000


@dataclass
class _Owner:
    key: tuple[object, ...]
    identity: Identity | None
    group: int | None  # foreground process group when the tree was walked
    activity: int
    walked_mono: int


class Owners:
    """The owners of all panes of one server."""

    def __init__(self) -> None:
        self._known: dict[str, _Owner] = {}

    def resolve(
        self,
        panes: Iterable[PaneRow],
        manifests: Sequence[Manifest],
        registered: Mapping[str, str],
        mono_ms: int,
    ) -> dict[str, Identity | None]:
        """The owner of each pane by pane id. `registered` names the reporters of panes with a live report.

        A known agent costs two reads of /proc; one sweep of all processes serves every tree that has to be walked.
        """
        rows = {row.pane_id: row for row in panes}
        self._known = {pane: owner for pane, owner in self._known.items() if pane in rows}
        stale = [row for row in rows.values() if self._stale(row, self._key(row, manifests, registered), mono_ms)]
        if stale:
            self._walk(stale, manifests, registered, mono_ms)
        return {pane: self._known[pane].identity for pane in rows}

    def _key(self, row: PaneRow, manifests: Sequence[Manifest], registered: Mapping[str, str]) -> tuple[object, ...]:
        pins = (row.options.get("@agent_hint"), "@agent_ignore" in row.options, registered.get(row.pane_id))
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
        mono_ms: int,
    ) -> None:
        table = processes.sweep()
        below = children(table)
        # The sweep has read the groups already where the system tells them per process.
        swept = {row.pane_pid: table[row.pane_pid].tpgid for row in rows if row.pane_pid in table}
        missing = [row.pane_pid for row in rows if swept.get(row.pane_pid) is None]
        groups = {**swept, **processes.foreground_groups(missing)}
        for row in rows:
            known = self._known.get(row.pane_id)
            group = groups.get(row.pane_pid)
            identity = identify(
                row,
                processes.detailed(row.pane_pid, table, below),
                group,
                manifests,
                known.identity if known else None,
                registered.get(row.pane_id, ""),
            )
            key = self._key(row, manifests, registered)
            self._known[row.pane_id] = _Owner(key, identity, group, row.window_activity, mono_ms)
