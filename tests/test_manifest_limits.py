"""What a manifest may cost, whatever stands in it: it is read once, in bounded time, and an error is short."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from agents_plugin.core.schema import MAX_NODES, MAX_REGEX_CHARS
from agents_plugin.manifests import BUNDLED, MAX_BYTES, MAX_FILES, READ_S, Catalog, ManifestFileError, load, parse

HEAD = "schema: 1\nid: big\nidentity: {names: [big]}\n"
RULES = "".join(f"  - {{id: r{number}, state: idle, contains: word{number}}}\n" for number in range(20_000))
IDS = (
    *("aliases", "cycle", "deep-list", "deep-map", "long-regex", "slow-regex"),
    *("long-key", "digits", "date", "inf", "list-key", "tag"),
)
ALIASES = (
    f"{HEAD}patterns:\n  p: &p\n    contains: [{','.join(f'w{number}' for number in range(15_000))}]\nrules:\n"
    + "".join(f"  - {{id: r{number}, state: idle, any: [{','.join(['*p'] * 10)}]}}\n" for number in range(190))
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ALIASES, f"more than {MAX_NODES} values"),
        (f"{HEAD}rules: &a [*a]\n", f"more than {MAX_NODES} values"),
        (f"{HEAD}rules: " + "[" * 5_000 + "]" * 5_000, ""),
        (f"{HEAD}rules: " + "{a: " * 5_000 + "1" + "}" * 5_000, ""),
        (f"{HEAD}rules: [{{id: a, state: idle, line: '{'x' * (MAX_REGEX_CHARS + 1)}'}}]", "characters"),
        (f"{HEAD}rules: [{{id: a, state: idle, line: '{'(|)' * 40}(?!)'}}]", f"takes more than {READ_S:g} s to read"),
        (f"{HEAD}{'k' * 1_000}: 1\n", "known key"),
        (f"schema: {'9' * 5_000}\n", ""),
        (f"{HEAD}dwell: 2021-13-45\n", ""),
        (f"{HEAD}dwell: .inf\n", "seconds"),
        (f"{HEAD}? [a, b]\n: 1\n", ""),
        (f"{HEAD}x: !!python/object:os.system a\n", ""),
    ],
    ids=IDS,
)
def test_a_wrong_manifest_costs_little_and_says_why_in_a_line(text: str, says: str) -> None:
    begun = time.process_time()
    with pytest.raises(ManifestFileError) as raised:
        parse(text, "mine.yaml")
    assert time.process_time() - begun < READ_S + 1
    assert says in str(raised.value) and len(str(raised.value)) < 600


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "big.yaml"
    file.write_text(f"{HEAD}rules:\n{RULES}")
    assert file.stat().st_size > MAX_BYTES
    begun = time.process_time()
    with pytest.raises(ManifestFileError, match="larger than 128 KiB"):
        load(file)
    assert time.process_time() - begun < 0.1


def test_the_largest_wrong_file_costs_under_a_second(tmp_path: Path) -> None:
    bad = "  - {id: bad, state: sleeping, contains: x}\n"
    rules = RULES[: MAX_BYTES // 2].rsplit("\n", 1)[0]
    begun = time.process_time()
    with pytest.raises(ManifestFileError, match=r"rules\[\d+\].state"):
        parse(f"{HEAD}rules:\n{rules}\n{bad}", "mine.yaml")
    assert time.process_time() - begun < 1.0


def test_a_directory_of_many_files_hides_none_of_ours(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 5):
        (tmp_path / f"{number:04}.yaml").write_text("x")
    catalog = Catalog((BUNDLED, tmp_path))
    assert catalog.get("claude") is not None
    assert catalog.problems[-1] == f"{tmp_path}: 5 files beyond {MAX_FILES} are left out"
    assert not catalog.refresh()
