"""The small frozen values that flow between the stages of a pass. Times are epoch milliseconds."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents_plugin.core.states import Source, State


@dataclass(frozen=True)
class Screen:
    """One captured screen and the pane facts that cost nothing extra.

    `lines` are the visible rows, top first, without trailing blanks. A fact is None when it was not recorded.
    """

    lines: tuple[str, ...]
    title: str = ""
    cursor_x: int | None = None
    cursor_y: int | None = None
    cursor_shown: bool | None = None
    alternate: bool | None = None
    cols: int | None = None


@dataclass(frozen=True)
class Match:
    """A rule that holds on a screen: its id, what it says, and the asked-for text if it names one.

    `weak`: the same screen is also seen in another state, so it never overrules a claim as proven chrome does.
    """

    rule: str
    state: State
    detail: str | None = None
    text: str = ""
    weak: bool = False


@dataclass(frozen=True)
class Reading:
    """What the screen rules of one manifest say of one screen: the first rule that holds per state.

    `skip` names a history view, menu or picker the user opened: then the screen says nothing.
    """

    blocked: Match | None = None
    working: Match | None = None
    idle: Match | None = None
    skip: str | None = None

    @property
    def best(self) -> Match | None:
        """The match the screen alone would publish; None when it says nothing."""
        if self.skip:
            return None
        return self.blocked or self.working or self.idle


@dataclass(frozen=True)
class Look:
    """A reading and when its screen is known to have been true (moves on while the screen is proven unchanged)."""

    reading: Reading
    at_ms: int


@dataclass(frozen=True)
class Claim:
    """What an agent says of itself: a report, a hook event or a record.

    `pid` is the process the claim came from (its end ends the claim); `until_ms` bounds a report that was typed in one.
    """

    state: State
    at_ms: int
    source: Source
    detail: str | None = None
    turn_end: bool = False
    text: str = ""
    why: str = ""  # the event, record status or option that made it
    pid: int | None = None
    until_ms: int | None = None
    proven: bool = True  # of an event: the hook saw who speaks


@dataclass(frozen=True)
class Verdict:
    """What is published of one pane, and why. `why` names the one rule or event that decided."""

    state: State
    detail: str | None
    source: Source
    evidence_at_ms: int
    since_ms: int
    why: str
    text: str = ""
    turn_at_ms: int | None = None


@dataclass(frozen=True)
class Identity:
    """Which agent owns a pane, its process, and how that was resolved.

    `how` is `hint`, `registered`, `foreground`, `tree` or `title`.
    """

    agent: str
    how: str
    pid: int | None = None
    started: float | None = None  # process start, seconds since the epoch
    foreground: bool = True  # the agent holds the terminal's foreground process group
    headless: bool = False  # `claude -p`, `codex exec` …: not an interactive agent
    command: str = ""
    remote: str | None = None  # ssh, docker, nested tmux …: out of scope without a registration
    groups: frozenset[int] = frozenset()  # process groups that mean the agent has the terminal; empty: not known
    stopped: bool = False  # its process is stopped: Ctrl-Z, SIGSTOP


@dataclass(frozen=True)
class PaneRow:
    """One pane as tmux lists it. Hostile text is raw: published text is cleaned at the choke point."""

    pane_id: str
    pane_pid: int
    tty: str
    session_id: str
    window_id: str
    window_index: int
    pane_index: int
    active: bool  # the active pane of its window
    dead: bool
    width: int
    height: int
    cursor_x: int
    cursor_y: int
    cursor_shown: bool
    alternate: bool
    scroll_position: int  # rows scrolled back in a mode, 0 when live
    in_mode: bool
    window_activity: int  # seconds since the epoch
    progress: str = ""  # pane_pb_state on tmux >= 3.7
    command: str = ""
    title: str = ""
    path: str = ""
    session_name: str = ""
    window_name: str = ""
    options: dict[str, str] = field(default_factory=dict)  # @agent_* as read, absent ones left out
    window_summary: str = ""  # the rollups as published: one that is wrong is made anew
    window_attention: str = ""
    session_summary: str = ""


@dataclass(frozen=True)
class ClientRow:
    """One attached client. `pane_id` is the active pane of its current window; seconds since the epoch.

    `focused` is false when its terminal said that it lost the focus (with `focus-events on`), or it is suspended.
    """

    name: str
    session_id: str
    pane_id: str
    activity: int
    created: int
    control: bool
    focused: bool = True


@dataclass(frozen=True)
class Snapshot:
    """One observation of a tmux server."""

    panes: tuple[PaneRow, ...]
    clients: tuple[ClientRow, ...]
    server_pid: int
    server_started: int
    version: str
    environment: dict[str, str]  # our hidden AGENTS_* book-keeping
    settings: dict[str, str]  # @agents-* as the user set them
    globals: dict[str, str] = field(default_factory=dict)  # @agents_status, @agents_queue, @agents_summary as published
    unreadable: tuple[str, ...] = ()  # panes that are there but whose row did not parse: their states stay
