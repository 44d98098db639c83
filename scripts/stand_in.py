#!/usr/bin/env python3
"""A stand-in agent: draws recorded screens of a real one in real time and reacts to Enter, Esc, digits, y and n.

usage: stand_in.py SCENE   (run it through a link named like the agent; SCENE is a name in fixtures/try, without width)

A scene is JSON lines: a header `{"stand_in", "agent", "cols", "alternate"}`, then segments. `{"segment", "next"?,
"keys"?}` opens one, `{"t_ms", "title", "cursor", "screen"}` are its frames. At its end a segment goes on with `next`,
or holds its last frame until one of `keys` is typed; Ctrl-C or Ctrl-D ends the program as an agent would end.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import select
import signal
import sys
import termios
import time
import tty
from pathlib import Path
from typing import Any

SCENES = Path(os.path.realpath(__file__)).parent.parent / "fixtures" / "try"
KEYS = {b"\r": "enter", b"\n": "enter", b"\x1b": "esc"}
#: A lone Esc is an Esc once nothing follows it; arrow keys and mouse reports start with one too.
ESCAPE_S = 0.05
RULE = re.compile(r"^([─╌━])\1+$")
PROMPT = re.compile(r"^\s*[❯›>] ?")


def load(name: str, cols: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the segments of the widest recording of a scene that fits `cols` (else the narrowest)."""
    found = sorted((int(path.name.rpartition("_w")[2].split(".")[0]), path) for path in SCENES.glob(f"{name}_w*"))
    if not found:
        raise SystemExit(f"stand_in: no scene named {name}")
    path = next((path for width, path in reversed(found) if width <= cols), found[0][1])
    segments: dict[str, Any] = {}
    current: dict[str, Any] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        header: dict[str, Any] = json.loads(next(lines))
        for line in lines:
            row = json.loads(line)
            if "segment" in row:
                current = segments[row["segment"]] = {**row, "frames": []}
            else:
                current["frames"].append(row)
    return header, segments


def render(frame: dict[str, Any], recorded: int, cols: int, rows: int) -> str:
    """Control sequences that show a frame: its last rows when it is too tall, rules as wide as the terminal."""
    lines = frame["screen"].split("\n")[-rows:]
    out = [f"\x1b]2;{frame['title']}\x07\x1b[?25l\x1b[H"]
    place = (len(lines), 1)
    for number, line in enumerate(lines, 1):
        rule = RULE.match(line)
        shown = rule[1] * cols if rule and len(line) == recorded else line[:cols]
        out.append(f"\x1b[{number};1H{shown}\x1b[K")
        prompt = PROMPT.match(line)
        if prompt:
            place = (number, prompt.end() + 1)
    out.append(f"\x1b[J\x1b[{place[0]};{place[1]}H")
    if frame["cursor"]:
        out.append("\x1b[?25h")
    return "".join(out)


class Player:
    """Plays the segments of one scene on this terminal until it is told to stop."""

    def __init__(self, name: str) -> None:
        size = os.get_terminal_size()
        self.header, self.segments = load(name, size.columns)
        self.frame: dict[str, Any] | None = None

    def draw(self) -> None:
        """Draw the current frame at the terminal's present size."""
        if self.frame:
            size = os.get_terminal_size()
            text = render(self.frame, self.header["cols"], size.columns, size.lines)
            os.write(1, text.encode())

    def key(self, seconds: float | None) -> str:
        """The next key within `seconds` (None: for ever); empty when there was none."""
        try:
            ready, _, _ = select.select([0], [], [], seconds)
        except InterruptedError:
            return ""
        if not ready:
            return ""
        data = os.read(0, 64)
        if data[:1] == b"\x1b" and len(data) == 1 and select.select([0], [], [], ESCAPE_S)[0]:
            os.read(0, 64)
            return ""
        if not data or data[:1] in b"\x03\x04":
            raise SystemExit(0)
        if data in KEYS:
            return KEYS[data]
        return "" if data[:1] == b"\x1b" else data[:1].decode("ascii", "replace")

    def wait(self, until: float | None, keys: dict[str, str]) -> str:
        """Wait until a moment of the monotonic clock; the segment a key leads to, or empty."""
        while True:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                return ""
            key = self.key(left)
            if key in keys:
                return keys[key]

    def play(self) -> None:
        """Go from segment to segment; ends only by a key."""
        name = next(iter(self.segments))
        while True:
            segment = self.segments[name]
            keys = segment.get("keys", {})
            start = time.monotonic()
            goto = ""
            for frame in segment["frames"]:
                goto = self.wait(start + frame["t_ms"] / 1000, keys)
                if goto:
                    break
                self.frame = frame
                self.draw()
            if not goto and "next" in segment:
                goto = self.wait(time.monotonic() + 0.6, keys) or segment["next"]
            name = goto or self.wait(None, keys)


def main() -> int:
    """Set the terminal up as the agent does, play, and put it back."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    player = Player(sys.argv[1])
    before = termios.tcgetattr(0)
    tty.setraw(0)
    signal.signal(signal.SIGWINCH, lambda *_: player.draw())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(0))
    os.write(1, b"\x1b[?1049h" if player.header["alternate"] else b"\x1b[2J")
    try:
        player.play()
    finally:
        leave = b"\x1b[?1049l" if player.header["alternate"] else b"\x1b[2J\x1b[H"
        os.write(1, leave + b"\x1b]2;\x07\x1b[?25h")
        termios.tcsetattr(0, termios.TCSADRAIN, before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
