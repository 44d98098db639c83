"""The page on events shows a section that works, and names every key there is."""

from __future__ import annotations

import re

from agents_plugin.core import hookrules
from agents_plugin.core.hookrules import build_hooks
from agents_plugin.core.hooks import interpret
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
    assert words >= hookrules._TOP
    assert words >= hookrules._RULE
    assert hookrules._TASKS - {"id"} <= words
    assert words >= hookrules._TESTS
    assert {*hookrules.TURNS, *hookrules.SESSIONS} <= words
