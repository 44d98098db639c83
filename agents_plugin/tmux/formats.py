"""Formats that read texts of others, bounded by tmux itself: a program's title may have 900 kB.

`#{=N:}` alone does not do: it counts cells, so combining marks and `#[…]` pass without end, and it drops controls and
doubles an odd `#` also in short texts. `q/h` doubles every `#` first, which leaves no style and is undone here.
"""

from __future__ import annotations

from collections.abc import Iterable

#: Twice the longest value we publish, in case all of it is wide.
CELLS = 512
#: Beyond this, a text is cut to its first cells; it is not read when these have more bytes (marks without a width).
BYTES = 4096
#: Nothing is cut from more: tmux takes 40 ms for 900 kB of marks, and since 3.7 ends an expansion after 100 ms.
CUT_BYTES = 65_536
#: Stands for a text that was not read: cleaned, it is empty.
UNREAD = "\u200b"
#: What is kept of any text but a path: tmux cannot count characters.
CHARACTERS = 1024
PATH_CHARACTERS = 4096
#: A self-report is a word and a time; something longer is none.
STATE_BYTES = 64
#: What stands for a state that is too long: no report, and no state of ours.
NO_STATE = "!"


def exact(name: str) -> str:
    """A text that the system or tmux has bounded."""
    return f"#{{q/h:{name}}}"


def trimmed(name: str) -> str:
    """The first cells of a text without its controls. Marks without a width are not bounded: for what few can write."""
    return f"#{{={CELLS};q/h:{name}}}"


def bounded(name: str, otherwise: str | None = None, limit: int = BYTES) -> str:
    """A text as it is while it is short, else its first cells (or `otherwise`)."""
    return f"#{{?#{{e|<|:#{{n:{name}}},{limit}}},{exact(name)},{_cut(name) if otherwise is None else otherwise}}}"


def bounded_all(names: Iterable[str], mark: str, otherwise: str | None = None) -> str:
    """Several texts, each after `mark`, as they are while they are short together: one comparison for all of them."""
    names = tuple(names)
    size = f"#{{n:{''.join(f'#{{{name}}}' for name in names)}}}"
    whole = "".join(f"{mark}{exact(name)}" for name in names)
    cut = "".join(f"{mark}{_cut(name) if otherwise is None else bounded(name, otherwise)}" for name in names)
    return f"#{{?#{{e|<|:{size},{BYTES}}},{whole},{cut}}}"


def bounded_state() -> str:
    """`@agent_state` as it is, or `NO_STATE`."""
    return f"#{{?#{{e|<|:#{{n:@agent_state}},{STATE_BYTES}}},{exact('@agent_state')},{NO_STATE}}}"


def _cut(name: str) -> str:
    few = f"#{{?#{{e|<|:#{{n:{trimmed(name)}}},{BYTES}}},{trimmed(name)},{UNREAD}}}"
    return f"#{{?#{{e|<|:#{{n:{name}}},{CUT_BYTES}}},{few},{UNREAD}}}"


def plain(answer: str, limit: int = CHARACTERS) -> str:
    """The text tmux was asked for by one of these formats."""
    return answer[: 2 * limit].replace("##", "#")[:limit] if "#" in answer else answer[:limit]
