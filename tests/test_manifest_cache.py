"""Checked manifests kept as plain data: only what was read and accepted, only while the file is the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import agents_plugin.manifests
from agents_plugin.core.screen import read
from agents_plugin.manifest_cache import ManifestCache, cache_file
from agents_plugin.manifests import BUNDLED, Catalog
from agents_plugin.saved import load_screen
from tests.support import ROOT

MANIFEST = "schema: 1\nid: mine\nidentity: {names: [mine]}\nrules:\n  - {id: wait, state: blocked, contains: WAIT}\n"


def cached(tmp_path: Path) -> ManifestCache:
    return ManifestCache(tmp_path / "cache" / "manifests.json")


@pytest.fixture
def no_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading YAML fails the test."""

    def fail(text: str, origin: str) -> None:
        raise AssertionError(f"read {origin}")

    monkeypatch.setattr(agents_plugin.manifests, "_parse", fail)


def test_a_second_process_reads_no_yaml(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    first = Catalog((BUNDLED,), cached(tmp_path))
    request.getfixturevalue("no_yaml")
    second = Catalog((BUNDLED,), cached(tmp_path))
    assert [manifest.id for manifest in second.outlines] == [manifest.id for manifest in first.outlines]
    assert [m.identity for m in second.outlines] == [m.identity for m in first.outlines]
    screen, _ = load_screen(ROOT / "fixtures" / "claude" / "blocked__bash_permission__w100.txt")
    whole = second.get("claude")
    assert whole is not None and read(whole, screen).best is not None
    assert whole.visible and whole.hooks is not None


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    place = tmp_path / "manifests"
    place.mkdir()
    file = place / "mine.yaml"
    file.write_text(MANIFEST)
    Catalog((place,), cached(tmp_path))
    file.write_text(MANIFEST.replace("blocked", "working") + "# longer\n")
    manifest = Catalog((place,), cached(tmp_path)).get("mine")
    assert manifest is not None and str(manifest.rules[0].state) == "working"


def test_what_is_wrong_with_a_file_is_kept_too(tmp_path: Path) -> None:
    """Until the file changes: finding out costs most for those that are wrong."""
    place = tmp_path / "manifests"
    place.mkdir()
    file = place / "mine.yaml"
    file.write_text(MANIFEST.replace("blocked", "sleeping"))
    first = Catalog((place,), cached(tmp_path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agents_plugin.manifests, "_parse", None)
        second = Catalog((place,), cached(tmp_path))
    assert not second.outlines and "mine.yaml:5: rules[0].state" in second.problems[0]
    assert first.problems == second.problems
    file.write_text(MANIFEST + "# right\n")
    assert Catalog((place,), cached(tmp_path)).get("mine") is not None


def test_files_that_are_gone_leave_the_cache(tmp_path: Path) -> None:
    place = tmp_path / "manifests"
    place.mkdir()
    (place / "mine.yaml").write_text(MANIFEST)
    (place / "yours.yaml").write_text(MANIFEST.replace("mine", "yours"))
    Catalog((place,), cached(tmp_path))
    (place / "mine.yaml").unlink()
    Catalog((place,), cached(tmp_path))
    assert list(json.loads((tmp_path / "cache" / "manifests.json").read_text())["files"]) == [str(place / "yours.yaml")]


@pytest.mark.parametrize("data", [{"id": 5}, {"schema": 1, "id": "mine", "rules": 7}, {"id": "mine", "identity": []}])
def test_a_cache_somebody_else_wrote_is_as_none(tmp_path: Path, data: object) -> None:
    place = tmp_path / "manifests"
    place.mkdir()
    (place / "mine.yaml").write_text(MANIFEST)
    Catalog((place,), cached(tmp_path))
    file = tmp_path / "cache" / "manifests.json"
    noted = json.loads(file.read_text())
    noted["files"][str(place / "mine.yaml")][1] = data
    file.write_text(json.dumps(noted))
    catalog = Catalog((place, BUNDLED), cached(tmp_path))
    assert catalog.get("claude") is not None
    assert catalog.get("mine") is not None or "mine.yaml" in catalog.problems[0]
    assert [manifest.id for manifest in catalog]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"code": [], "files": {}}', "\x00" * 50], ids=repr)
def test_a_damaged_cache_is_as_none(tmp_path: Path, content: str) -> None:
    file = tmp_path / "cache" / "manifests.json"
    Catalog((BUNDLED,), ManifestCache(file))
    file.write_text(content)
    assert len(Catalog((BUNDLED,), ManifestCache(file))) == len(Catalog((BUNDLED,)))
    assert json.loads(file.read_text())["files"]


def test_other_code_checks_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Catalog((BUNDLED,), cached(tmp_path))
    monkeypatch.setattr("agents_plugin.manifest_cache.__version__", "other")
    some = next(BUNDLED.glob("*.yaml"))
    facts = some.stat()
    assert cached(tmp_path).get(str(some), (facts.st_mtime_ns, facts.st_size, facts.st_ino)) is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert len(Catalog((BUNDLED,), ManifestCache(blocked / "manifests.json")))


def test_where_it_lives(tmp_path: Path) -> None:
    assert cache_file({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/x/agents.tmux/manifests.json")
    home = str(tmp_path)
    assert cache_file({"XDG_CACHE_HOME": "relative", "HOME": home}) == tmp_path / ".cache/agents.tmux/manifests.json"
    assert cache_file({"HOME": str(tmp_path / "none")}) is None
    assert cache_file({}) is None
