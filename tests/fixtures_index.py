"""The saved screens of `fixtures/`, with what each is expected to read as."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents_plugin.core.evidence import Screen
from agents_plugin.core.manifest import Manifest
from agents_plugin.manifests import Catalog
from agents_plugin.saved import load_screen

ROOT = Path(__file__).resolve().parent.parent / "fixtures"
CATALOG = Catalog()


@dataclass(frozen=True)
class Saved:
    """One saved screen: `truth` from its name, `expect` from the facts beside it (state, detail, rule)."""

    agent: str
    name: str
    truth: str
    screen: Screen
    facts: dict[str, Any]

    @property
    def expect(self) -> dict[str, str | None]:
        found: dict[str, str | None] = self.facts.get("expect", {})
        return found

    @property
    def id(self) -> str:
        return f"{self.agent}/{self.name}"


def saved(agent: str) -> list[Saved]:
    """Every saved screen of one agent that says what it is expected to read as."""
    found = []
    for file in sorted((ROOT / agent).glob("*__*.txt")):
        screen, facts = load_screen(file)
        if "expect" in facts:
            found.append(Saved(agent, file.stem, file.name.split("__", 1)[0], screen, facts))
    return found


def manifest(agent: str) -> Manifest:
    """The bundled manifest of an agent."""
    found = CATALOG.get(agent)
    assert found is not None, CATALOG.problems
    return found


FULL_DEPTH = ("claude", "codex")
SCREENS = [screen for agent in FULL_DEPTH for screen in saved(agent)]
