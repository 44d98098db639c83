"""The rows of `agents ls`: one agent pane each, from what is published and who owns the pane now. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from agents_plugin.core import attention
from agents_plugin.core.attention import Waiting
from agents_plugin.core.evidence import Claim, Identity, PaneRow
from agents_plugin.core.numbers import parse_int
from agents_plugin.core.plan import Published
from agents_plugin.core.report import parse_report
from agents_plugin.core.states import STATE_ORDER, Source, State, Tier
from agents_plugin.core.text_forms import from_format
from agents_plugin.tmux.contract import report_variable

SCHEMA = 1
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
_SEGMENT = re.compile(r"##|#\[[^\]]*\]")


@dataclass(frozen=True)
class AgentRow:
    """One agent pane, keys as in `ls --json`. Texts are the originals, hostile ones too; times are epoch milliseconds.

    `session` is a name, `window` and `index` are the numbers of window and pane. `identity` is how the owner was found
    just now (`hint` `registered` `foreground` `tree` `title`; None: the agent is gone, or only a report names it).
    `confidence` tells how good the evidence of the state is, best first: `declared` (the agent says it itself),
    `proven` `captured` `conservative` (screen rules, by their manifest's tier), `unverified` (a report whose sender was
    not seen to run in the pane), `weak` (process or progress facts alone), `none` (nothing says it, or nobody is left).
    """

    pane: str
    session: str
    window: int
    window_name: str
    index: int
    agent: str
    state: str
    detail: str | None
    done: bool
    attention: bool
    needs_you: bool
    since_ms: int | None
    source: str | None
    confidence: str
    identity: str | None
    evidence_age_ms: int | None
    display_name: str | None
    status_text: str | None
    title: str
    command: str
    dir: str
    pid: int | None
    session_id: str | None
    resume: str | None
    muted: bool
    host: str
    server: str

    def json(self) -> dict[str, Any]:
        """The row as JSON data. Bytes that are no UTF-8 become U+FFFD: JSON has no way to say them."""
        return {key: _whole(value) for key, value in asdict(self).items()}


@dataclass(frozen=True)
class Pane:
    """A listed pane with what is known of it: what a row is made of."""

    row: PaneRow
    published: Published
    identity: Identity | None = None
    tier: Tier | None = None
    session_id: str | None = None  # as the agent's record has it
    environment: Mapping[str, str] | None = None  # our hidden book-keeping
    resume: str | None = None  # the agent's command that goes on with a conversation, `{session_id}` in it
    out_of_scope: str = ""  # why this pane is no agent's unless it reports itself


def agent_rows(panes: Iterable[Pane], now_ms: int, host: str, server: str) -> list[AgentRow]:
    """The agents among the panes, those who need you first."""
    rows = [row for pane in panes if (row := agent_row(pane, now_ms, host, server))]
    waiting = [Waiting(r.pane, r.state, r.detail, r.attention, r.since_ms or 0) for r in rows]
    order = {pane: place for place, pane in enumerate(attention.queue(waiting))}
    ranks = {state.value: rank for rank, state in enumerate(STATE_ORDER)}
    return sorted(rows, key=lambda r: (order.get(r.pane, len(order)), ranks[r.state], r.since_ms or 0, int(r.pane[1:])))


def agent_row(pane: Pane, now_ms: int, host: str, server: str) -> AgentRow | None:
    """The row of one pane; None when it is no agent's."""
    row, published, identity = pane.row, pane.published, pane.identity
    options = row.options
    pending = pending_report(published, now_ms)
    state = pending.state if pending else published_state(published)
    owned = identity is not None and bool(identity.agent) and not pane.out_of_scope
    if "@agent_ignore" in options or (state is None and not owned):
        return None
    told = state is not None
    state = state or State.UNKNOWN
    detail = pending.detail if pending else options.get("@agent_detail")
    marked = bool(options.get("@agent_attention")) or bool(pending and pending.turn_end)
    since = pending.at_ms if pending else parse_int(options.get("@agent_since"))
    at = pending.at_ms if pending else parse_int(options.get("@agent_evidence_at"))
    source = "report" if pending else options.get("@agent_source")
    muted = parse_int(options.get("@agent_mute_until"))
    return AgentRow(
        pane=row.pane_id,
        session=row.session_name,
        window=row.window_index,
        window_name=row.window_name,
        index=row.pane_index,
        agent=options.get("@agent_name") or (identity.agent if identity else "") or "agent",
        state=state.value,
        detail=detail if told else None,
        done=attention.done(state, marked),
        attention=marked,
        needs_you=attention.needs_you(state, detail, marked),
        since_ms=since if told else None,
        source=source if told else None,
        confidence=confidence(pane, state, source if told else None, at),
        identity=identity.how if identity and identity.how else None,
        evidence_age_ms=max(0, now_ms - at) if told and at is not None else None,
        display_name=_original(options.get("@agent_display_name")),
        status_text=_original(options.get("@agent_status_text")),
        title=row.title,
        command=row.command,
        dir=row.path,
        pid=parse_int(options.get("@agent_pid")) or (identity.pid if identity else None),
        session_id=options.get("@agent_session_id") or pane.session_id,
        resume=resume_command(pane.resume, options.get("@agent_session_id") or pane.session_id),
        muted=muted is not None and muted > now_ms,
        host=host,
        server=server,
    )


def resume_command(template: str | None, session_id: str | None) -> str | None:
    """The command that goes on with a conversation, safe to paste into a shell; None when there is none to go on with.

    A template without a place for the id goes on with the last one. What is not plainly an id (an option, a path)
    would be an argument of another kind: None.
    """
    if template is None or "{session_id}" not in template:
        return template
    return template.replace("{session_id}", session_id) if session_id and _ID.fullmatch(session_id) else None


def confidence(pane: Pane, state: State, source: str | None, at_ms: int | None) -> str:
    """How good the evidence is; the words are those of `AgentRow`."""
    if source == Source.REPORT:
        said = (pane.environment or {}).get(report_variable(pane.row.pane_id), "")
        # Anybody with the socket can set the option: only our own command looks where a report comes from.
        return "declared" if at_ms is not None and said == f"{at_ms}.inside" else "unverified"
    if state is State.UNKNOWN or source is None or pane.identity is None:
        return "none"
    if source in (Source.HOOK, Source.RECORD):
        return "declared"
    if source == Source.SCREEN and pane.tier:
        return pane.tier.value
    return "weak"


def pending_report(published: Published, now_ms: int) -> Claim | None:
    """A report that no pass has taken up yet."""
    report = parse_report(published.raw_state, now_ms) if published.foreign else None
    return report.claim if report else None


def published_state(published: Published) -> State | None:
    """The bare token that stands in `@agent_state`; None for anything else."""
    try:
        return State(published.raw_state)
    except ValueError:
        return None


def _original(value: str | None) -> str | None:
    return None if value is None else from_format(value)


def unstyled(segment: str) -> str:
    """A rendered status segment as plain text: styles gone, doubled `#` single."""
    return _SEGMENT.sub(lambda found: "#" if found[0] == "##" else "", segment)


def task(title: str) -> str:
    """A title without the spinner or mark that agents draw before it: `⠂ Fix login` is `Fix login`."""
    head, _, rest = title.strip().partition(" ")
    drawn = all(unicodedata.category(char) == "So" or char == "\ufe0f" for char in head)
    return rest.strip() if drawn and rest else title


def counts(rows: Iterable[AgentRow]) -> dict[str, int]:
    """Panes per state; `idle` includes those that are `done`."""
    states = list(rows)
    found = {state.value: sum(row.state == state for row in states) for state in STATE_ORDER}
    return {**found, "done": sum(row.done for row in states), "needs_you": sum(row.needs_you for row in states)}


def _whole(value: Any) -> Any:
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(value, str) else value
