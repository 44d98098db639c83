"""What passes carry along: one pane from observation to decision, what is remembered of it, and what a pass did."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from agents_plugin.core.attention import Mark
from agents_plugin.core.evidence import Claim, Identity, Look, PaneRow, Snapshot
from agents_plugin.core.fold import Decision, Facts
from agents_plugin.core.look import Plan, Seen
from agents_plugin.core.manifest import Manifest
from agents_plugin.core.memory import Memory
from agents_plugin.core.plan import PaneChange, Published
from agents_plugin.core.states import State
from agents_plugin.events import Voice
from agents_plugin.host.records import Record
from agents_plugin.settings import Settings


@dataclass
class Mind:
    """What the helper remembers of one pane from pass to pass."""

    seen: Seen | None = None
    memory: Memory = field(default_factory=Memory)
    due_mono: int | None = None
    voice: Voice | None = None  # what its agent said by events
    text_mono: int = 0  # when the status text last changed


@dataclass
class Subject:
    """One pane in one pass, from what is known of it to what is decided."""

    row: PaneRow
    published: Published
    mind: Mind
    identity: Identity | None
    manifest: Manifest | None
    claims: tuple[Claim, ...]
    record: Record | None
    facts: Facts
    look_plan: Plan | None = None
    look: Look | None = None
    decision: Decision | None = None
    mark: Mark = Mark.KEEP
    change: PaneChange | None = None

    @property
    def relevant(self) -> bool:
        """Whether there is anything to judge or to remove."""
        return self.identity is not None or bool(self.claims) or self.published.ours


@dataclass(frozen=True)
class Pass:
    """What a pass did. `due_ms`: when the same evidence would be judged differently, from now; None: never."""

    snapshot: Snapshot
    settings: Settings
    subjects: tuple[Subject, ...]
    accepted: frozenset[str]
    alerts: tuple[Subject, ...]
    due_ms: int | None
    heard: bool = False  # events were taken: what they add up to is worth keeping

    @cached_property
    def busy(self) -> bool:
        """Whether something may change soon: an agent works, a window runs, or a change was lost to another writer."""
        lost = any(s.change and s.row.pane_id not in self.accepted for s in self.subjects)
        verdicts = (s.decision.verdict for s in self.subjects if s.decision)
        return lost or self.due_ms is not None or any(v and v.state is State.WORKING for v in verdicts)

    @property
    def asked(self) -> bool:
        """Whether an agent waits for an answer, which most of them give no sign of."""
        return any(
            s.decision and s.decision.verdict and s.decision.verdict.state is State.BLOCKED for s in self.subjects
        )
