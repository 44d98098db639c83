"""The tmux that is run, and what of ours a server has."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agents_plugin.tmux.contract import INDEX
from agents_plugin.tmux.runner import Runner

_KEY = re.compile(r"bind-key\s+(?:-r\s+)?-T prefix\s+(\S+)\s+(.*)")
_HOOK = re.compile(r"([a-z-]+)(?:\[([0-9]{1,9})\])?(?: |$)")
_ID = re.compile(r"[$@%]\d+")


def too_old(version: str) -> bool:
    """Whether a tmux of this version lacks what we need (3.2), in spellings like `3.1c`, `next-3.8`, `openbsd-7.4`."""
    found = re.fullmatch(r"(?:next-)?([0-9]{1,4})\.([0-9]{1,4})[a-z]*(?:-rc\d*)?", version)
    return found is not None and (int(found[1]), int(found[2])) < (3, 2)


@dataclass(frozen=True)
class Installed:
    """What of ours a server has. `hooks`: names with our index; `keys`: key -> what it runs, of the prefix table."""

    hooks: frozenset[str] = frozenset()
    aliases: tuple[int, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    status_left: str = ""
    status_right: str = ""
    status: str = ""  # `off`, `on` or a number of lines
    options: tuple[str, ...] = ()  # names of global @agents- options
    masks: tuple[tuple[str, str], ...] = ()  # (session, window or pane, hook of its own that hides the global ones)

    @property
    def own_keys(self) -> dict[str, str]:
        """The keys that run one of our aliases."""
        return {key: does for key, does in self.keys.items() if "run-shell -C agents-" in does}


def installed(runner: Runner, places: Iterable[str] = ()) -> Installed:
    """Survey a server in one process. Raises as the runner does.

    `places` are ids of sessions, windows and panes to look at for hooks of their own.
    """
    nonce = secrets.token_hex(8)
    wanted = [place for place in places if _ID.fullmatch(place)]
    sections = {
        "hooks": "show-hooks -g\nshow-hooks -gw",
        "aliases": "show-options -s command-alias",
        "keys": "list-keys -T prefix",
        "left": "show-options -gqv status-left",
        "right": "show-options -gqv status-right",
        "status": "show-options -gqv status",
        "options": "show-options -g",
        **{f"place{n}": f"show-hooks {_level(place)} -t '{place}'" for n, place in enumerate(wanted)},
    }
    script = "".join(f"display-message -p '{nonce}{name}'\n{body}\n" for name, body in sections.items())
    answer = runner.source(script).stdout
    found: dict[str, str] = {}
    for part in answer.split(nonce)[1:]:
        name, _, text = part.partition("\n")
        found[name] = text
    return Installed(
        hooks=frozenset(name for name, index in _hooks(found.get("hooks", "")) if index == INDEX),
        aliases=tuple(
            int(index) for index in re.findall(rf"^command-alias\[({INDEX // 10}\d)\]", found.get("aliases", ""), re.M)
        ),
        keys={m[1]: m[2] for line in found.get("keys", "").splitlines() if (m := _KEY.match(line))},
        status_left=found.get("left", "").rstrip("\n"),
        status_right=found.get("right", "").rstrip("\n"),
        status=found.get("status", "").strip(),
        options=tuple(re.findall(r"^(@agents-[\w-]+)", found.get("options", ""), re.M)),
        masks=tuple(
            (place, name)
            for n, place in enumerate(wanted)
            for name in dict.fromkeys(name for name, _ in _hooks(found.get(f"place{n}", "")))
        ),
    )


def _level(place: str) -> str:
    return {"%": "-p", "@": "-w"}.get(place[0], "")


def _hooks(text: str) -> list[tuple[str, int]]:
    """(name, index) of every hook that is set; tmux also lists the names of those that are not."""
    found = []
    for line in text.splitlines():
        match = _HOOK.match(line)
        if match and match[2] is not None:
            found.append((match[1], int(match[2])))
    return found
