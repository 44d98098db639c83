"""Writes down what happens in a pane: frames with the truth between them, saved screens, hook events. All redacted."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents_plugin.core.evidence import PaneRow, Screen
from agents_plugin.core.redact import Person, redact
from agents_plugin.fixture import neutral
from lab.pane import Pane

EVERY_S = 0.2
#: A frame at least this often, so that a tape shows that nothing changed.
STILL_S = 1.0


@dataclass(frozen=True)
class Saved:
    """A screen saved under a name, as the truth was then."""

    place: str
    what: str
    truth: str
    file: Path


def now_ms() -> int:
    """Epoch milliseconds."""
    return int(time.time() * 1000)


class Recorder:
    """Records one scenario of an agent into `folder`; `people` are the things to make neutral."""

    def __init__(
        self, pane: Pane, folder: Path, agent: str, version: str, name: str, people: tuple[Person, ...]
    ) -> None:
        self.pane, self.folder, self.agent, self.version, self.name = pane, folder, agent, version, name
        self.people = people
        self.truth = "unknown"
        self.saved: list[Saved] = []
        self.hooks = Path(pane.env["LAB_HOOKS"])
        self._lines: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def say(self, truth: str, t_ms: int | None = None) -> None:
        """The truth from now on, or from an earlier moment."""
        self.truth = truth
        with self._lock:
            self._lines.append({"t_ms": t_ms or now_ms(), "truth": truth})

    def save(self, what: str, place: str) -> Saved | None:
        """Save the screen as it is now; None when there is no pane any more."""
        screen, row = self.pane.look(), self.pane.row()
        if screen is None or row is None:
            return None
        folder = self.folder / "captures" / self.agent
        folder.mkdir(parents=True, exist_ok=True)
        text, facts = self._neutral(screen, row)
        file = folder / f"{self.truth}__{what}__w{self.pane.cols}.txt"
        head = {"agent": self.agent, "version": self.version, "truth": self.truth, "what": what}
        file.write_text(text, encoding="utf-8")
        file.with_suffix(".json").write_text(json.dumps({**head, **facts}, indent=1, ensure_ascii=False) + "\n")
        found = Saved(place, what, self.truth, file)
        self.saved.append(found)
        return found

    def finish(self, more: list[dict[str, Any]]) -> Path:
        """Stop, and write the tape (with these lines) and the hook events. Returns the tape."""
        self._stop.set()
        self._thread.join(5)
        self._collect()
        tapes = self.folder / "tapes"
        tapes.mkdir(parents=True, exist_ok=True)
        tape = tapes / f"{self.agent}_{self.name}_w{self.pane.cols}.jsonl"
        lines = sorted((*self._lines, *more), key=lambda line: line["t_ms"])
        tape.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
        if self._events:
            log = self.folder / "hooks.jsonl"
            with log.open("a", encoding="utf-8") as out:
                out.writelines(json.dumps(event, ensure_ascii=False) + "\n" for event in self._events)
        return tape

    def _loop(self) -> None:
        last: tuple[Any, ...] = ()
        written = 0.0
        while not self._stop.wait(EVERY_S):
            screen = self.pane.look()
            self._collect()
            if screen is None:
                continue
            mono, drawn = time.monotonic(), (screen.lines, screen.title, screen.cursor_shown)
            if drawn != last or mono - written >= STILL_S:
                last, written = drawn, mono
                with self._lock:
                    self._lines.append(self._frame(screen))

    def _frame(self, screen: Screen) -> dict[str, Any]:
        return {
            "t_ms": now_ms(),
            "title": self._plain(screen.title),
            "screen": self._plain("\n".join(screen.lines)) + "\n",
            "cols": screen.cols,
            "cursor_x": screen.cursor_x,
            "cursor_y": screen.cursor_y,
            "cursor_flag": str(int(bool(screen.cursor_shown))),
            "alternate_on": str(int(bool(screen.alternate))),
        }

    def _collect(self) -> None:
        """Take in what the hooks left."""
        for file in sorted(self.hooks.glob("[!.]*"), key=lambda file: file.stat().st_mtime):
            with suppress(OSError):
                text = self._plain(file.read_text(encoding="utf-8", errors="replace"))
                event = {"t_ms": int(file.stat().st_mtime * 1000), "hook": file.name.partition(".")[0]}
                file.unlink()
                self._events.append({**event, "stdin": _parsed(text), "truth": self.truth})

    def _neutral(self, screen: Screen, row: PaneRow) -> tuple[str, Mapping[str, Any]]:
        first, *others = self.people
        text, facts, _ = neutral(screen, row, first)
        for person in others:
            text = redact(text, person).text
            facts["pane_title"] = redact(facts["pane_title"], person).text
        return text, facts

    def _plain(self, text: str) -> str:
        for person in self.people:
            text = redact(text, person).text
        return text


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
