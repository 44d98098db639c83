"""From a decision to the one transaction that publishes it: only what a person can see, nothing for nothing. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from agents_plugin.core.attention import Mark
from agents_plugin.core.evidence import Claim, Identity, Verdict
from agents_plugin.core.fold import Decision
from agents_plugin.core.numbers import parse_int
from agents_plugin.core.report import foreign, parse_report, serialise_claim
from agents_plugin.core.states import Source, State
from agents_plugin.core.text import strip_controls
from agents_plugin.core.text_forms import for_format, from_format

#: Every pane option we publish; all of them go when the stamps are removed.
PUBLISHED = (
    "@agent_name",
    "@agent_state",
    "@agent_detail",
    "@agent_attention",
    "@agent_since",
    "@agent_turn_at",
    "@agent_source",
    "@agent_evidence_at",
    "@agent_status_text",
    "@agent_pid",
    "@agent_session_id",
    "@agent_subagents",
    "@agent_notified_at",
    "@agent_context_pct",
    "@agent_tokens",
    "@agent_model",
)
#: Written only together with something visible: a time that moves on its own would redraw every client in every pass.
_EXPLAINING = ("@agent_since", "@agent_source", "@agent_evidence_at")
_SAID = re.compile(r"[01]\.[0-9]{1,12}")


@dataclass(frozen=True)
class Published:
    """What tmux holds of a pane: `options` (`@agent_*`, raw), and our hidden book-keeping (empty: absent)."""

    pane_id: str
    options: Mapping[str, str]
    version: str = ""
    claim: str = ""
    state: str = ""  # AGENTS_<n>_PUB: the token we published last
    said: str = ""  # AGENTS_<n>_SAID: what our hook saw others write into `@agent_state` since

    @classmethod
    def of(cls, pane_id: str, options: Mapping[str, str], environment: Mapping[str, str]) -> Published:
        """From a listed pane and the server's hidden environment."""
        version, claim, state = (environment.get(hidden(pane_id, key), "") for key in ("V", "CLAIM", "PUB"))
        return cls(pane_id, options, version, claim, state, environment.get(hidden(pane_id, "SAID"), ""))

    @property
    def raw_state(self) -> str:
        """`@agent_state` as it stands, whoever wrote it."""
        return self.options.get("@agent_state", "")

    @property
    def foreign(self) -> bool:
        """Whether somebody else wrote `@agent_state` since we did."""
        return self.again or foreign(self.raw_state, self.state)

    @property
    def again(self) -> bool:
        """Whether what somebody wrote is the token that was published already."""
        return _SAID.fullmatch(self.said) is not None and self.raw_state == self.state != ""

    @property
    def returned(self) -> bool:
        """Whether another token stood in between: the run that was published is over, and this is a new one."""
        return self.again and self.said.startswith("1")

    def said_ms(self, now_ms: int) -> int:
        """When the token was written again, by the end of that second; else now."""
        second = parse_int(self.said.partition(".")[2]) if self.again else None
        return now_ms if second is None else min(now_ms, second * 1000 + 999)

    @property
    def touched(self) -> bool:
        """Whether we, or a report, have ever said anything of this pane."""
        return bool(self.version or self.claim or self.state or self.raw_state)

    @property
    def marked(self) -> bool:
        """Whether the attention mark is up."""
        return bool(self.options.get("@agent_attention"))

    @property
    def ours(self) -> bool:
        """Whether this pane carries stamps that are ours to remove, or a report that has ended."""
        return bool(self.version or self.state or parse_report(self.raw_state, 0))

    def verdict(self, identity: Identity | None = None) -> Verdict | None:
        """The verdict that is published; None without one, or when it is of another agent or another process of it."""
        if self.returned:
            return None
        since, pid = parse_int(self.options.get("@agent_since")), parse_int(self.options.get("@agent_pid"))
        if since is None or self.state not in _TOKENS:
            return None
        if identity and self.options.get("@agent_name") not in (None, identity.agent):
            return None
        if identity and identity.pid is not None and pid is not None and pid != identity.pid:
            return None
        source = self.options.get("@agent_source", "")
        return Verdict(
            State(self.state),
            _token(self.options.get("@agent_detail")),
            Source(source) if source in _SOURCES else Source.PROCESS,
            parse_int(self.options.get("@agent_evidence_at")) or since,
            since,
            "as published",
            from_format(self.options.get("@agent_status_text", "")),
            parse_int(self.options.get("@agent_turn_at")),
        )


@dataclass(frozen=True)
class Labels:
    """What is published beside the verdict. `extra` are further options (telemetry), None to remove one."""

    name: str
    pid: int | None = None
    session_id: str | None = None
    subagents: int = 0
    extra: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class PaneChange:
    """One transaction on one pane; false when there is nothing to write.

    It holds only while `AGENTS_<n>_V` is `expected_version` and `@agent_state` is `expected_state` (both raw, empty
    when absent). Values are plain text, quoting is the writer's; an `env` value that is empty removes the variable.
    """

    pane_id: str
    expected_version: str
    expected_state: str
    set: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def visible(self) -> bool:
        """Whether a person can see it (and tmux redraws)."""
        return bool(self.set or self.unset)

    def __bool__(self) -> bool:
        return self.visible or bool(self.env)


def hidden(pane_id: str, key: str) -> str:
    """The hidden environment name of a pane's book-keeping: `AGENTS_<n>_<key>`."""
    return f"AGENTS_{pane_id.removeprefix('%')}_{key}"


def plan(published: Published, decision: Decision, mark: Mark, labels: Labels, token: str) -> PaneChange:
    """What to write so that tmux says what was decided. `token` is the new version, `<epoch ms>.<writer pid>`."""
    if decision.verdict is None:
        return _removal(published, token)
    verdict, options = decision.verdict, published.options
    wanted = _wanted(verdict, labels, options.get("@agent_name"))
    text = _text(verdict, published)
    if text is not None:
        wanted["@agent_status_text"] = text or None
    name = options.get("@agent_display_name", "")
    if not presentable(name):
        wanted["@agent_display_name"] = for_format(from_format(name)) or None
    if mark is not Mark.KEEP:
        wanted["@agent_attention"] = "1" if mark is Mark.RAISE else None
    changed = {name for name, value in wanted.items() if (options.get(name) or None) != value}
    unexplained = any(name not in options for name in _EXPLAINING)
    # Whoever said it had every client drawn just now: once more, when something else decides from now on.
    told = published.again and {"@agent_source", "@agent_since"} & changed
    if not unexplained and not told and changed <= set(_EXPLAINING):
        changed = set()
    claim = _kept(decision.claim, published)
    visible = bool(changed) or published.state != verdict.state
    env: dict[str, str] = {}
    if visible or claim != published.claim:
        env = {"V": token, "PUB": verdict.state.value, "CLAIM": claim}
    env |= {"SAID": ""} if published.said else {}
    return PaneChange(
        published.pane_id,
        published.version,
        published.raw_state,
        {name: value for name, value in wanted.items() if name in changed and value is not None},
        tuple(name for name, value in wanted.items() if name in changed and value is None),
        {hidden(published.pane_id, key): value for key, value in env.items()},
    )


def _wanted(verdict: Verdict, labels: Labels, name: str | None) -> dict[str, str | None]:
    return {
        "@agent_name": _label(labels.name) or _label(name) or "agent",
        "@agent_state": verdict.state.value,
        "@agent_detail": verdict.detail,
        "@agent_since": str(verdict.since_ms),
        "@agent_turn_at": str(verdict.turn_at_ms) if verdict.turn_at_ms else None,
        "@agent_source": verdict.source.value,
        "@agent_evidence_at": str(verdict.evidence_at_ms),
        "@agent_pid": str(labels.pid) if labels.pid is not None else None,
        "@agent_session_id": _label(labels.session_id),
        "@agent_subagents": str(labels.subagents) if labels.subagents > 0 else None,
        **{name: _label(value) for name, value in labels.extra.items()},
    }


def _token(text: str | None) -> str | None:
    """A detail somebody may have written over ours; None for what is no token."""
    return text if text and _DETAIL.fullmatch(text) else None


def _label(text: str | None) -> str | None:
    """An id or a model's name: one line, bounded, and without anything tmux could read as a style."""
    return strip_controls(text).replace("#", "")[:200] or None if text else None


def _text(verdict: Verdict, published: Published) -> str | None:
    """The status text to publish; None to leave what is there, which may be a program's own."""
    there = published.options.get("@agent_status_text", "")
    if verdict.text or verdict.source is Source.REPORT:
        fit = for_format(verdict.text or from_format(there))
        return None if fit == there else fit
    moved = (published.state, published.options.get("@agent_detail")) != (verdict.state, verdict.detail)
    return "" if moved else None


def presentable(text: str) -> bool:
    """Whether the value of an option can be drawn as it is."""
    return for_format(from_format(text)) == text


def _kept(claim: Claim | None, published: Published) -> str:
    """The claim to store. A record is read anew in every pass, so it never replaces what only we remember."""
    if claim is None:
        return ""
    return published.claim if claim.source is Source.RECORD else serialise_claim(claim)


def _removal(published: Published, token: str) -> PaneChange:
    names = PUBLISHED if published.ours else ()
    unset = tuple(name for name in names if name in published.options)
    env = {"V": token, "PUB": "", "CLAIM": ""} if unset or published.claim or published.state else {}
    env |= {"SAID": ""} if published.said else {}
    env = {hidden(published.pane_id, key): value for key, value in env.items()}
    return PaneChange(published.pane_id, published.version, published.raw_state, {}, unset, env)


_DETAIL = re.compile(r"[a-z0-9_][a-z0-9_-]{0,63}")
_TOKENS = frozenset(state.value for state in State)
_SOURCES = frozenset(source.value for source in Source)
