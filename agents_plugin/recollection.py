"""What one helper hands on to the next: the memory of every pane, as JSON data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents_plugin.core import memory
from agents_plugin.core.memory import Memory
from agents_plugin.events import load_voice
from agents_plugin.host.faults import Faults
from agents_plugin.subject import Mind


def dump(minds: Mapping[str, Mind]) -> dict[str, Any]:
    """The panes of which anything is remembered, by pane id."""
    noted: dict[str, Any] = {}
    for pane, mind in minds.items():
        if mind.memory != Memory() or mind.voice:
            noted[pane] = {"memory": memory.dump(mind.memory), "due": mind.due_mono}
            noted[pane].update({"voice": mind.voice.dump()} if mind.voice else {})
    return noted


def load(data: Mapping[str, Any], faults: Faults, only_voices: bool = False) -> dict[str, Mind]:
    """The minds in what `dump` gave; a pane whose data does not fit is left out. `only_voices`: it may be long ago."""
    minds: dict[str, Mind] = {}
    for pane, noted in data.items():
        if not isinstance(noted, Mapping):
            continue
        with faults.item(f"what was remembered of pane {pane}"):
            mind = Mind(voice=load_voice(noted.get("voice")))
            due = noted.get("due")
            if not only_voices:
                mind.memory, mind.due_mono = memory.load(noted.get("memory")), due if isinstance(due, int) else None
            minds[pane] = mind
    return minds
