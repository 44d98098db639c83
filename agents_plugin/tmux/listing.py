"""One tmux process -> one Snapshot: settings, clients, hidden book-keeping and every pane."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from itertools import islice

from agents_plugin.core.evidence import ClientRow, PaneRow, Snapshot
from agents_plugin.core.numbers import parse_int
from agents_plugin.settings import OPTIONS, TOO_LONG
from agents_plugin.tmux import formats
from agents_plugin.tmux.contract import GLOBAL_OPTIONS, PANE_OPTIONS, SESSION_SUMMARY, WINDOW_ATTENTION, WINDOW_SUMMARY
from agents_plugin.tmux.runner import Runner, TmuxError, is_pane_id

# Numbers and ids only: they hold no separator. A printable one, because some clients turn TAB and 0x1f into `_`.
_PANE_FACTS = (
    "pane_id",
    "pane_pid",
    "pane_tty",
    "session_id",
    "window_id",
    "window_index",
    "pane_index",
    "pane_active",
    "pane_dead",
    "pane_width",
    "pane_height",
    "cursor_x",
    "cursor_y",
    "cursor_flag",
    "alternate_on",
    "scroll_position",
    "pane_in_mode",
    "window_activity",
    "pane_pb_state",
)
#: Others write these, and what they wrote is shown, kept or answered as it is.
_FREE_TEXTS = (
    "@agent_status_text",
    "@agent_display_name",
    "@agent_hint",
    "pane_title",
    "session_name",
    "window_name",
)
_SUMMARIES = (WINDOW_SUMMARY, WINDOW_ATTENTION, SESSION_SUMMARY)
_SHORT_TEXTS = (*(name for name in PANE_OPTIONS if name not in ("@agent_state", *_FREE_TEXTS)), *_SUMMARIES)
_PANE_TEXTS = (*_SHORT_TEXTS, "@agent_state", "pane_current_command", "pane_current_path", *_FREE_TEXTS)
_CLIENT_FACTS = ("session_id", "pane_id", "client_activity", "client_created", "client_control_mode", "client_flags")
_CLIENT_TEXTS = ("client_name",)
_SERVER_FACTS = ("pid", "start_time", "version")
_SETTINGS = tuple(option.name for option in OPTIONS)
_SERVER_TEXTS = (*_SETTINGS, *GLOBAL_OPTIONS)
#: Hidden variables of ours are tokens; something longer is not.
_VARIABLE_CHARACTERS = 1024
#: The queue holds up to nine bytes a pane.
_GLOBAL_BYTES = 256 * 1024
#: Three to four a pane. Beyond it somebody else fills the server's environment.
_VARIABLES = 20_000
#: A row within the bounds of its texts is kept until the next listing.
_KEPT_CHARACTERS = 12 * 1024


class ListingError(TmuxError):
    """tmux answered with something that is no listing. Not the same as a server without panes."""


def observe(runner: Runner, beat: int | None = None) -> Snapshot:
    """Observe a server in one process. Raises ListingError and what the runner raises.

    `beat`: epoch seconds, left in the server as the time of the last pass; our hooks see by it that no helper lives.

    A pane in a linked window or a grouped session is listed once. A row that does not parse hides no other pane; its
    pane id is in `unreadable`.
    """
    nonce = secrets.token_hex(4)
    output = runner.run(
        *(() if beat is None else ("set-environment", "-gh", "AGENTS_BEAT", str(beat), ";")),
        "display-message",
        "-p",
        _server_format(nonce),
        ";",
        "display-message",
        "-p",
        f"<{nonce}V|",
        ";",
        "show-environment",
        "-gh",
        ";",
        "list-clients",
        "-F",
        _format(nonce, "C", _CLIENT_FACTS, map(formats.trimmed, _CLIENT_TEXTS)),
        ";",
        "list-panes",
        "-a",
        "-F",
        pane_format(nonce),
    )
    # What a list says on a server without sessions.
    if output.code != 0 and "no current target" not in output.stderr:
        raise ListingError(output.stderr.strip())
    return parse(output.stdout, nonce)


def pane_format(nonce: str) -> str:
    """The format of a pane's row."""
    texts = [formats.trimmed(name) for name in _SHORT_TEXTS]
    texts += [formats.bounded_state(), formats.exact("pane_current_command"), formats.exact("pane_current_path")]
    return _format(nonce, "P", _PANE_FACTS, texts) + formats.bounded_all(_FREE_TEXTS, f">{nonce}:")


def _server_format(nonce: str) -> str:
    # A setting that is too long is named as such: half a command must not run.
    head = _format(nonce, "S", _SERVER_FACTS, ())
    settings = formats.bounded_all(_SETTINGS, f">{nonce}:", nonce)
    return head + settings + "".join(f">{nonce}:{formats.bounded(name, '', _GLOBAL_BYTES)}" for name in GLOBAL_OPTIONS)


def _format(nonce: str, kind: str, facts: Iterable[str], texts: Iterable[str]) -> str:
    """A row: `<nonceP`, the facts between bars, then every text after a mark nobody can guess."""
    head = "|".join(f"#{{{name}}}" for name in facts)
    return f"<{nonce}{kind}|{head}" + "".join(f">{nonce}:{text}" for text in texts)


def parse(answer: str, nonce: str) -> Snapshot:
    """A Snapshot from what `observe` asked for. Raises ListingError when the frame of the answer is not there."""
    environment: dict[str, str] | None = None
    server: tuple[str, ...] = ()
    clients: list[ClientRow] = []
    panes: dict[str, PaneRow] = {}
    unreadable: list[str] = []
    garbled = False
    rows: dict[tuple[str, ...], PaneRow] = {}
    # A line break inside a text is part of it: only the nonce begins a row or a text.
    for row in answer.split(f"<{nonce}"):
        kind, parts = row[:2], tuple(row[2:].removesuffix("\n").split(f">{nonce}:"))
        if kind == "P|":
            pane = _rows.get(parts) or _pane(parts)
            if pane:
                if len(row) < _KEPT_CHARACTERS:
                    rows[parts] = pane
                panes.setdefault(pane.pane_id, pane)
            else:
                garbled = True
                named_pane = parts[0].partition("|")[0]
                unreadable += [named_pane] if is_pane_id(named_pane) else []
        elif kind == "C|":
            client = _client(parts)
            if client:
                clients.append(client)
        elif kind == "S|" and len(parts) == 1 + len(_SERVER_TEXTS):
            server = parts
        elif kind == "V|":
            environment = _environment(row[2:])
    if not server or environment is None:
        raise ListingError(f"an answer of {len(answer)} characters without its frame")
    if garbled and not panes:
        raise ListingError("no row of the listing could be read")
    _rows.clear()
    _rows.update(rows)
    facts = server[0].split("|")
    if len(facts) != len(_SERVER_FACTS):
        raise ListingError("the server's own row could not be read")
    pid, started, version = facts
    named = dict(zip(_SERVER_TEXTS, (formats.plain(text, _GLOBAL_BYTES) for text in server[1:]), strict=True))
    settings = {name: TOO_LONG if named[name] == nonce else named[name] for name in _SETTINGS if named[name]}
    return Snapshot(
        panes=tuple(panes.values()),
        clients=tuple(clients),
        server_pid=_number(pid),
        server_started=_number(started),
        version=version,
        environment=environment,
        settings=settings,
        globals={name: named[name] for name in GLOBAL_OPTIONS if named[name]},
        unreadable=tuple(pane for pane in unreadable if pane not in panes),
    )


#: The rows of the last listing. Most are those of the next one; frozen, so they can be handed out again.
_rows: dict[tuple[str, ...], PaneRow] = {}


def _pane(parts: tuple[str, ...]) -> PaneRow | None:
    facts = parts[0].split("|")
    if len(facts) != len(_PANE_FACTS) or len(parts) != 1 + len(_PANE_TEXTS) or not is_pane_id(facts[0]):
        return None
    fact = dict(zip(_PANE_FACTS, facts, strict=True))
    text = dict(zip(_PANE_TEXTS, map(formats.plain, parts[1:]), strict=True))
    path = formats.plain(parts[1 + _PANE_TEXTS.index("pane_current_path")], formats.PATH_CHARACTERS)
    return PaneRow(
        pane_id=fact["pane_id"],
        pane_pid=_number(fact["pane_pid"]),
        tty=fact["pane_tty"],
        session_id=fact["session_id"],
        window_id=fact["window_id"],
        window_index=_number(fact["window_index"]),
        pane_index=_number(fact["pane_index"]),
        active=fact["pane_active"] == "1",
        dead=fact["pane_dead"] == "1",
        width=_number(fact["pane_width"]),
        height=_number(fact["pane_height"]),
        cursor_x=_number(fact["cursor_x"]),
        cursor_y=_number(fact["cursor_y"]),
        cursor_shown=fact["cursor_flag"] == "1",
        alternate=fact["alternate_on"] == "1",
        scroll_position=_number(fact["scroll_position"]),
        in_mode=fact["pane_in_mode"] not in ("", "0"),
        window_activity=_number(fact["window_activity"]),
        progress=fact["pane_pb_state"],
        command=text["pane_current_command"],
        title=text["pane_title"],
        path=path,
        session_name=text["session_name"],
        window_name=text["window_name"],
        options={name: text[name] for name in PANE_OPTIONS if text[name]},
        window_summary=text[WINDOW_SUMMARY],
        window_attention=text[WINDOW_ATTENTION],
        session_summary=text[SESSION_SUMMARY],
    )


def _client(parts: tuple[str, ...]) -> ClientRow | None:
    facts = parts[0].split("|")
    if len(facts) != len(_CLIENT_FACTS) or len(parts) != 1 + len(_CLIENT_TEXTS):
        return None
    session, pane, activity, created, control, flags = facts
    # Every client begins with `focused` (seen on 3.3a, 3.5a, 3.8); only a terminal that reports its focus loses it.
    said = flags.split(",")
    return ClientRow(
        name=formats.plain(parts[1]),
        session_id=session,
        pane_id=pane,
        activity=_number(activity),
        created=_number(created),
        control=control == "1",
        focused="focused" in said and "suspended" not in said,
    )


def _environment(lines: str) -> dict[str, str]:
    found = (line.partition("=") for line in lines.splitlines() if line.startswith("AGENTS_"))
    short = ((name, value) for name, equals, value in found if equals and len(name) + len(value) < _VARIABLE_CHARACTERS)
    return dict(islice(short, _VARIABLES))


def _number(text: str) -> int:
    return parse_int(text) or 0
