"""The page on events shows a section that works, and names every key there is."""

from __future__ import annotations

import re

from agents_plugin.core import hooks
from agents_plugin.core.hooks import build_hooks, interpret
from agents_plugin.manifests import _loader
from tests.support import ROOT


def page() -> str:
    return (ROOT / "docs" / "manifests.md").read_text(encoding="utf-8").split("## Events")[1]


def test_the_example_works() -> None:
    import yaml

    section = yaml.load(page().split("```yaml\n")[1].split("```")[0], _loader())
    built = build_hooks(section["hooks"])
    signal = interpret(built, "Tool", {"tool": "run", "input": {"command": "make"}}, 1, "k")
    assert signal and signal.text == "run make"


def test_every_key_is_named() -> None:
    words = set(re.findall(r"\w+", page()))
    assert words >= hooks._TOP
    assert words >= hooks._RULE
    assert hooks._TASKS - {"id"} <= words
    assert words >= hooks._TESTS
    assert {*hooks.TURNS, *hooks.SESSIONS} <= words
