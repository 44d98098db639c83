"""What a person is told of a decided pane, and when it is enough: marks that come down, alerts, texts, the queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agents_plugin.core import attention
from agents_plugin.core.attention import Mark, Waiting
from agents_plugin.core.evidence import ClientRow, Snapshot, Verdict
from agents_plugin.core.fold import Decision
from agents_plugin.core.numbers import parse_int
from agents_plugin.core.states import Source
from agents_plugin.core.text_forms import for_format, from_format
from agents_plugin.settings import Settings
from agents_plugin.subject import Subject

#: A prompt that is answered at once (by a rule of the agent, by a quick user) rings for nobody.
ALERT_AFTER_MS = 1_000
#: With `@agents-clear-on dwell`: how long a client must stay on a pane.
STAY_MS = 2_000
#: What an agent does may change many times a second, and each write draws every client anew.
TEXT_MS = 2_000


class Stays:
    """Since when each client has shown the pane it shows, for those who do not want arriving to count as seeing."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], tuple[int, int]] = {}  # first seen there: monotonic and wall, ms

    def watch(self, snapshot: Snapshot, mono: int, now: int) -> None:
        """Note who shows what in this pass."""
        here = {(client.name, client.pane_id) for client in snapshot.clients if not client.control}
        self._since = {stay: self._since.get(stay, (mono, now)) for stay in here}

    def panes(self, mono: int) -> frozenset[str]:
        """Panes a client has shown for a while."""
        return frozenset(pane for (_, pane), (since, _) in self._since.items() if mono - since >= STAY_MS)

    def typing(self, snapshot: Snapshot) -> tuple[ClientRow, ...]:
        """Clients with input since they were first seen where they are: the key that brought them there is none."""
        arrived = {stay: wall for stay, (_, wall) in self._since.items()}
        late = ((client, arrived.get((client.name, client.pane_id))) for client in snapshot.clients)
        return tuple(client for client, wall in late if wall is not None and client.activity * 1000 >= wall)

    def dump(self) -> list[list[object]]:
        """As JSON data."""
        return [[name, pane, mono, wall] for (name, pane), (mono, wall) in self._since.items()]

    def load(self, data: object) -> None:
        """Take up what `dump` gave; anything else is as nothing."""
        for row in data if isinstance(data, list) else ():
            if isinstance(row, list) and len(row) == 4 and all(isinstance(number, int) for number in row[2:]):
                self._since[str(row[0]), str(row[1])] = (row[2], row[3])


def unmark(subject: Subject, clients: Sequence[ClientRow], stayed: bool) -> None:
    """Take the mark down when its user has answered to it by input of these clients, or by staying (`stayed`)."""
    decision, published = subject.decision, subject.published
    if subject.mark is not Mark.KEEP or not published.marked or not decision or not decision.verdict:
        return
    verdict, before = decision.verdict, published.verdict(subject.identity)
    # A mark that outlives its run went up with that run: answering a prompt is input to it.
    run = before if before and before.state is not verdict.state else verdict
    typed = attention.seen(clients, subject.row.pane_id, run.since_ms, run.turn_at_ms)
    if typed or stayed or _spoken_to(subject, run):
        subject.mark = Mark.CLEAR


def _spoken_to(subject: Subject, run: Verdict) -> bool:
    """Whether the agent tells of a person at its keyboard since the run began: a prompt, an answer, `/clear`."""
    voice = subject.mind.voice
    return voice is not None and voice.memory.person_ms >= max(run.since_ms, run.turn_at_ms or 0)


def alert_due(subject: Subject, settings: Settings, clients: Sequence[ClientRow], now: int) -> bool:
    """Whether a blocked run still owes its alert. A pane that somebody has before them rings nothing."""
    verdict = subject.decision.verdict if subject.decision else None
    if verdict is None or not (settings.alert or settings.alert_command):
        return False
    if attention.shown(clients, subject.row.pane_id):
        return False
    notified = parse_int(subject.published.options.get("@agent_notified_at"))
    muted = parse_int(subject.published.options.get("@agent_mute_until"))
    standing = subject.published.state == verdict.state and now - verdict.since_ms >= ALERT_AFTER_MS
    return standing and subject.published.marked and attention.alert_due(verdict, notified, muted, now)


def waiting(subject: Subject) -> Waiting | None:
    """What the queue needs of this pane; None when nothing is published of it."""
    verdict = subject.decision.verdict if subject.decision else None
    if verdict is None:
        return None
    marked = {Mark.RAISE: True, Mark.CLEAR: False, Mark.KEEP: subject.published.marked}[subject.mark]
    return Waiting(subject.row.pane_id, verdict.state, verdict.detail, marked, verdict.since_ms)


def paced(subject: Subject, decision: Decision, mono: int) -> Decision:
    """The decision with its text, unless nothing but the text is new and the last one is not two seconds old."""
    verdict, published, mind = decision.verdict, subject.published, subject.mind
    there = published.options.get("@agent_status_text", "")
    if verdict is None or not verdict.text or verdict.source is Source.REPORT:
        return decision
    if for_format(verdict.text) == there:
        return decision
    moved = (published.state, published.options.get("@agent_detail")) != (verdict.state.value, verdict.detail)
    due = mind.text_mono + TEXT_MS
    if moved or not mind.text_mono or mono >= due:
        mind.text_mono = mono
        return decision
    mind.due_mono = due if mind.due_mono is None else min(due, mind.due_mono)
    return replace(decision, verdict=replace(verdict, text=from_format(there)))
