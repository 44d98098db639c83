"""docs/coverage.md says what the manifests can tell, and they say it to any YAML reader."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from agents_plugin.core.manifest import Manifest
from agents_plugin.core.states import State
from agents_plugin.integrations.agents import AGENTS
from agents_plugin.manifests import BUNDLED, Catalog
from tests.support import ROOT

STATES = (State.WORKING, State.BLOCKED, State.IDLE)


def row(manifest: Manifest) -> str:
    """An agent's line of the table."""
    screen = ", ".join(state for state in STATES if state in manifest.visible) or "nothing"
    hooks = ", ".join(state for state in STATES if manifest.hooks and state in manifest.hooks.covers)
    by = "`agents install`" if manifest.id in AGENTS else "by hand" if hooks else ""
    hooks = "all" if hooks == "working, blocked, idle" else hooks
    screen = "all" if screen == "working, blocked, idle" else screen
    told = f"{hooks} ({by})" if hooks else ""
    return f"| `{manifest.id}` | {manifest.tier.value} | {screen} | {told} | {manifest.record or ''} |"


def test_the_coverage_page_is_what_the_manifests_say() -> None:
    text = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `.*\|$", text, re.MULTILINE)
    assert rows == [row(manifest) for manifest in sorted(Catalog(), key=lambda manifest: manifest.id)]


@pytest.mark.parametrize("file", sorted(Path(BUNDLED).glob("*.yaml")), ids=lambda file: file.stem)
def test_a_manifest_reads_the_same_without_the_fast_yaml_reader(file: Path) -> None:
    """PyYAML without libyaml refuses some of what libyaml reads."""
    text = file.read_text(encoding="utf-8")
    plain = yaml.load(text, yaml.SafeLoader)
    fast = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    assert plain == yaml.load(text, fast)
