"""What our sources and pages must never do or say, whoever edits them next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ROOT


def _lines(*places: str) -> Iterator[tuple[Path, str]]:
    """Lines of code without comments."""
    for place in (ROOT / name for name in places):
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if path.suffix in ("", ".py", ".tmux", ".sh", ".yaml") and path.is_file():
                text = path.read_text(encoding="utf-8")
                yield from ((path, line) for line in text.splitlines() if not line.lstrip().startswith("#"))


SHIPPED = ("agents.tmux", "agents_plugin", "scripts", "manifests")
NEVER = {
    # The flags of a linked window or a session are about windows that nobody asked for.
    "case-159-activity-flags": r"(activity|silence|bell)_flag",
    # A control client attaches: it is counted, suppresses flags, and one that does not read stalls the server.
    "case-154-control-clients": r"""tmux["']?,?\s+["']?-CC?\b|["']-CC?["']""",
    "case-121-lsof": r"\blsof\b|getfqdn|gethostbyname|getaddrinfo",
    "case-125-git": r"""["'](git|hg|jj)["']|\bgit +(rev-parse|branch|status|-C)\b""",
    "case-128-shells": r"shell=True|os\.system\(|os\.popen\(|\beval\(",
    "case-127-expanding-commands": r"rename-(window|session)|select-pane[^;]* -T\b",
    "case-127-expanded-values": r"set-option -\w*F[^;]*@agent_(status|display)",
    "case-153-styles-by-selection": r"select-pane[^;]* -P\b",
}


@pytest.mark.parametrize("name", NEVER)
def test_never(name: str) -> None:
    # Development tools that run beside the product may ask more.
    own = {"accuracy.py", "bench.py", "picture.py", "panes.py", "lab", "test", "tmux-versions", "dev-python", "bench"}
    found = [f"{p.name}: {line}" for p, line in _lines(*SHIPPED) if p.name not in own and re.search(NEVER[name], line)]
    assert not found


def test_case_078_whoever_asks_for_a_pane_names_it() -> None:
    """Without `-t` tmux answers for the current window, whatever TMUX_PANE is."""
    asked = re.compile(r"(?:display-message -p|set-option -[a-z]*p[a-z]*|capture-pane)\b.*")
    for path, line in _lines(
        "agents.tmux", "scripts/drive", "scripts/poke", "scripts/agent-hook", "agents_plugin/tmux"
    ):
        found = asked.search(line)
        if found and re.search(r"#\{(pane|window|session)_|set-option|capture-pane", found[0]):
            assert " -t " in found[0], f"{path.name}: {line}"


def test_case_131_no_page_tells_to_open_the_socket() -> None:
    """Who reaches the socket runs what it likes outside of its sandbox; our hooks write files instead."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = " ".join(page.read_text(encoding="utf-8").split())
        for sentence in re.split(r"(?<=[.:;]) ", text):
            if re.search(r"\b(mount|bind|share|allow|open|expose|pass)\w*\b[^.]*\bsocket\b", sentence, re.IGNORECASE):
                assert re.search(r"\b(not|never|no|without)\b", sentence, re.IGNORECASE), f"{page.name}: {sentence}"
    hook = [line for _, line in _lines("scripts/agent-hook")]
    assert hook and not [line for line in hook if re.search(r"\btmux +-|agents_tmux|TMUX_TMPDIR", line)]
    assert "Do not hand the tmux socket to a sandboxed agent" in (ROOT / "docs" / "commands.md").read_text()
