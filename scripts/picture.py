"""Turns a screen captured with its colours into an SVG that loads nothing from anywhere."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

_FONT_FACE = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)


def svg(screen: str, title: str) -> str:
    """An SVG of a screen given with ANSI colours; blank rows at the end of the screen's body are left out."""
    lines = [Text.from_ansi(line) for line in screen.rstrip("\n").split("\n")]
    width = max(line.cell_len for line in lines)
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for line in lines:
        console.print(line, no_wrap=True, overflow="crop", highlight=False)
    picture = console.export_svg(title=title, theme=MONOKAI, unique_id="agents")
    picture = _COMMENT.sub("", _FONT_FACE.sub("", picture))
    return picture.replace("Fira Code", "ui-monospace, Menlo, DejaVu Sans Mono")


if __name__ == "__main__":
    source, target = sys.argv[1:]
    Path(target).write_text(svg(Path(source).read_text(encoding="utf-8"), "tmux"), encoding="utf-8")
