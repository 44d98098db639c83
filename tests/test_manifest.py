"""Manifest files: the schema, errors that name file, line and key, the catalog, and rules that run away."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_plugin.core import manifest as manifest_module
from agents_plugin.core.evidence import Screen
from agents_plugin.core.manifest import Manifest, build
from agents_plugin.core.schema import ManifestError
from agents_plugin.core.screen import judged, read, trace
from agents_plugin.core.states import State
from agents_plugin.host.guard import AlarmGuard
from agents_plugin.manifests import BUNDLED, Catalog, ManifestFileError, load, parse, user_directory

HEAD = "schema: 1\nid: demo\nidentity: { names: [demo] }\n"
BUNDLED_MANIFESTS = list(Catalog())
RULES = HEAD + "rules:\n  - id: a\n"
RULE = RULES + "    state: idle\n"


def demo(rules: str, patterns: str = "") -> Manifest:
    return parse(f"{HEAD}{patterns}rules:\n{rules}", "demo.yaml")


def screen(*lines: str, **facts: Any) -> Screen:
    return Screen(tuple(lines), **facts)


def state(manifest: Manifest, *lines: str, **facts: Any) -> State | None:
    best = read(manifest, screen(*lines, **facts)).best
    return best.state if best else None


@pytest.mark.parametrize("file", sorted(BUNDLED.glob("*.yaml")), ids=lambda file: str(file.stem))
def test_bundled_manifests_load(file: Path) -> None:
    found = load(file)
    assert found.id == file.stem
    assert found.identity.names or found.identity.scripts or found.identity.modules
    assert found.rules or found.skips


@pytest.mark.parametrize(
    ("text", "line", "key", "says"),
    [
        pytest.param("schema: 2\nid: demo\n", 1, "schema", "must be 1", id="schema"),
        pytest.param("schema: 1\nid: Demo X\n", 2, "id", "lower case", id="id"),
        pytest.param("schema: 1\nid: demo\nrulez: []\n", 3, "rulez", "not a known key", id="unknown-key"),
        pytest.param(f"{RULES}    state: blokked\n", 6, "rules[0].state", "one of", id="state"),
        pytest.param(f"{RULE}    line: '('\n", 7, "rules[0].line", "regular expr", id="regex"),
        pytest.param(f"{RULE}", 5, "rules[0]", "at least one matcher", id="no-matcher"),
        pytest.param(f"{RULES}    contains: x\n", 5, "rules[0].id", "either a state or skip", id="no-state"),
        pytest.param(
            f"{RULE}    region: {{ first: 3 }}\n    contains: x\n",
            *(7, "rules[0].region", "must be one of"),
            id="region",
        ),
        pytest.param(
            f"{RULE}    any:\n      - contains: x\n      - contians: y\n",
            *(9, "rules[0].any[1].contians", "not a known key"),
            id="nested",
        ),
        pytest.param(f"{RULE}    absent: composer\n", 7, "rules[0].absent", "no pattern", id="pattern"),
        pytest.param(f"{RULE}    contains: 5\n", 7, "rules[0].contains", "text", id="number"),
        pytest.param(f"{RULE}    contains: ' '\n", 7, "rules[0].contains", "everywhere", id="blank"),
        pytest.param(f"{RULE}    cursor: gone\n", 7, "rules[0].cursor", "hidden or shown", id="cursor"),
        pytest.param(f"{HEAD}dwell: soon\n", 4, "dwell", "seconds", id="dwell"),
        pytest.param(f"{HEAD}visible: [idle]\nproven: [blocked]\n", 5, "proven", "not visible", id="proven"),
        pytest.param(f"{HEAD}id: other\n", 4, "", "given twice", id="key-twice"),
        pytest.param("schema: 1\nid: [demo\n", 3, "", "expected", id="not-yaml"),
        pytest.param(f"{HEAD}odd: [what?, now]\n", 4, "odd", "not a known key", id="only-libyaml-reads-it"),
        pytest.param("- a\n", 1, "", "must be a mapping", id="no-mapping"),
        pytest.param("", 1, "", "must be a mapping", id="empty"),
    ],
)
def test_errors_name_file_line_and_key(text: str, line: int, key: str, says: str) -> None:
    with pytest.raises(ManifestFileError) as raised:
        parse(text, "mine.yaml")
    assert (raised.value.file, raised.value.line, raised.value.key) == ("mine.yaml", line, key)
    assert says in str(raised.value)
    assert str(raised.value).startswith(f"mine.yaml:{line}: ")


def test_aliases_cannot_unfold_without_end() -> None:
    levels = "".join(f"  p{n}: &p{n} {{ any: [*p{n - 1}, *p{n - 1}, *p{n - 1}, *p{n - 1}] }}\n" for n in range(1, 12))
    with pytest.raises(ManifestFileError, match="more than"):
        parse(f"{HEAD}patterns:\n  p0: &p0 {{ contains: x }}\n{levels}", "bomb.yaml")


def test_answers_of_dialogs_are_texts() -> None:
    manifest = demo("  - { id: a, state: blocked, contains: [Yes, no, on] }\n")
    assert state(manifest, "Yes", "no", "on") is State.BLOCKED
    with pytest.raises(ManifestFileError, match="quote"):
        demo("  - { id: a, state: blocked, contains: true }\n")


def test_rule_ids_are_unique() -> None:
    with pytest.raises(ManifestError, match="another rule"):
        build({"schema": 1, "id": "x", "rules": [{"id": "a", "state": "idle", "contains": "x"}] * 2})


def test_contains_survives_wrapping_in_a_box() -> None:
    manifest = demo("  - { id: a, state: blocked, region: box, contains: Allow this tool? }\n")
    assert (
        state(manifest, "╭──────────╮", "│ Allow    │", "│ this tool│", "│ ?        │", "╰──────────╯") is State.BLOCKED
    )
    assert state(manifest, "Allow", "this tool", "?") is None


def test_all_box_matchers_hold_in_one_box() -> None:
    manifest = demo(
        "  - id: a\n    state: blocked\n    region: box\n    all: [{ contains: Allow }, { contains: Yes }]\n"
    )
    first, second = ["╭───────╮", "│ Allow │", "╰───────╯"], ["╭───────╮", "│ Yes   │", "╰───────╯"]
    assert state(manifest, *first, *second) is None
    assert state(manifest, "╭───────╮", "│ Allow │", "│ Yes   │", "╰───────╯") is State.BLOCKED
    outcome = trace(manifest, screen(*first, *second))[0]
    assert outcome.failed == "contains (box): Yes"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["┌─ Tool ──┐", "│ Allow?  │", "└─────────┘"], id="frame-with-label"),
        pytest.param(["text", "  ┃ Allow?", "  ┃ yes no"], id="left-bar"),
        pytest.param(["text", "─" * 40, " Allow?", " yes"], id="below-the-last-rule"),
        pytest.param(["│ lost its │", "│ top      │", "│ Allow?   │", "╰──────────╯"], id="top-scrolled-off"),
        pytest.param(["╭────────╮", "│ 日本語 Allow? │", "╰────────╯"], id="wide-characters-shift-the-border"),
        pytest.param(["a ╭────────╮ b", "a │ Allow? │ b", "a ╰────────╯ b"], id="frame-amid-text"),
    ],
)
def test_candidates_for_a_box(lines: list[str]) -> None:
    manifest = demo("  - { id: a, state: blocked, region: box, contains: Allow? }\n")
    assert state(manifest, *lines, cols=40) is State.BLOCKED


def test_text_beside_a_frame_is_not_in_it() -> None:
    manifest = demo("  - { id: a, state: blocked, region: box, contains: Allow? }\n")
    assert state(manifest, "╭──────╮ Allow?", "│ text │ Allow?", "╰──────╯ Allow?", cols=80) is None


def test_below_rule_needs_a_full_width_rule() -> None:
    manifest = demo("  - { id: a, state: blocked, region: { below_rule: 1 }, flow: '^Allow' }\n")
    assert state(manifest, "text", "─" * 78, "Allow", cols=80) is State.BLOCKED
    assert state(manifest, "text", "─" * 30, "Allow", cols=80) is None
    # Without any rule the whole screen is what is left of a dialog taller than it.
    assert state(manifest, "Allow", cols=80) is State.BLOCKED


def test_regions_count_from_the_last_row_with_text() -> None:
    manifest = demo(
        "  - { id: a, state: idle, region: { last: 1 }, line: '^end' }\n"
        "  - { id: b, state: working, region: { nonempty: 2 }, line: '^one' }\n"
    )
    assert state(manifest, "x", "end", "", "") is State.IDLE
    assert state(manifest, "one", "", "two", "") is State.WORKING
    assert state(manifest, "one", "two", "three") is None


@pytest.mark.parametrize(("shown", "expected"), [(False, State.BLOCKED), (True, None), (None, State.BLOCKED)])
def test_a_fact_that_was_not_recorded_fails_no_rule(shown: bool | None, expected: State | None) -> None:
    manifest = demo("  - { id: a, state: blocked, contains: Allow, cursor: hidden }\n")
    assert state(manifest, "Allow", cursor_shown=shown) is expected


@pytest.mark.parametrize(("row", "expected"), [(1, State.IDLE), (0, None), (None, State.IDLE), (9, None)])
def test_at_cursor(row: int | None, expected: State | None) -> None:
    manifest = demo("  - { id: a, state: idle, at_cursor: '^❯' }\n")
    assert state(manifest, "text", "❯ draft", cursor_y=row) is expected
    # Inverted, an unknown fact does not fail the rule either.
    negated = demo("  - { id: a, state: idle, contains: text, not: [{ at_cursor: '^❯' }] }\n")
    assert state(negated, "text", "❯ draft", cursor_y=row) is (State.IDLE if row != 1 else None)


def test_skip_rules_are_judged_first_and_silence_the_rest() -> None:
    manifest = demo("  - { id: a, state: blocked, contains: Allow }\n  - { id: view, skip: true, contains: history }\n")
    reading = read(manifest, screen("Allow", "history"))
    assert (reading.skip, reading.best) == ("view", None)


def test_first_rule_of_a_state_wins_and_blocked_is_best() -> None:
    manifest = demo(
        "  - { id: w, state: working, contains: spin }\n  - { id: b1, state: blocked, detail: plan, contains: ask }\n"
        "  - { id: b2, state: blocked, contains: ask, text: 'a(?P<text>s+)k' }\n"
    )
    reading = read(manifest, screen("spin", "ask"))
    assert reading.best is not None and (reading.best.rule, reading.best.detail) == ("b1", "plan")
    assert reading.working is not None


def test_ignore_case_and_absent_and_text() -> None:
    manifest = demo(
        "  - id: a\n    state: blocked\n    ignore_case: true\n    contains: ALLOW\n    absent: composer\n"
        "    text: 'allow (?P<text>\\w+)'\n",
        "patterns: { composer: { line: '^> ' } }\n",
    )
    blocked = read(manifest, screen("Allow this")).blocked
    assert blocked is not None and blocked.text == "this"
    assert state(manifest, "Allow this", "> x") is None
    assert trace(manifest, screen("Allow this", "> x"))[0].failed == "absent: pattern: composer"


RUNAWAY = (
    HEAD + "rules:\n  - { id: fine, state: idle, contains: a }\n  - { id: slow, state: blocked, line: '^(a+)+$' }\n"
)


def test_a_runaway_rule_is_stopped_and_named() -> None:
    manifest, guard = parse(RUNAWAY, "mine.yaml"), AlarmGuard()
    evil = screen("a" * 200 + "!")
    assert read(manifest, evil, guard).best is None
    assert guard.problems == ["mine.yaml: rule slow was stopped after 50 ms"]
    # Barred: not even a screen it could read is read, until the catalog is read again.
    assert guard.barred(manifest) and read(manifest, screen("a"), guard).best is None
    guard.forget()
    assert read(manifest, screen("a"), guard).best is not None
    assert trace(manifest, evil, guard)[-1].failed.startswith("stopped")


def test_a_manifest_read_again_owes_nothing_to_the_one_before() -> None:
    """Verdicts of named patterns are kept per screen: those of a manifest that is gone are nobody's."""
    shown = screen("Allow this?")
    for number in range(300):
        word = "Allow" if number % 2 else "Deny"
        rules = "  - { id: a, state: blocked, pattern: asks }\n"
        manifest = demo(rules, f"patterns: {{ asks: {{ contains: {word} }} }}\n")
        assert state(manifest, *shown.lines) is (State.BLOCKED if number % 2 else None), number


def test_a_guarded_read_gives_the_alarm_back() -> None:
    import signal

    before = signal.getsignal(signal.SIGVTALRM)
    read(parse(RUNAWAY, "mine.yaml"), screen("a"), AlarmGuard())
    assert signal.getsignal(signal.SIGVTALRM) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_hostile_width_and_height_are_bounded() -> None:
    manifest = demo("  - { id: a, state: idle, region: { last: 1 }, line: 'x' }\n")
    assert state(manifest, *["y" * 100_000] * 3000, "x" * 100_000) is State.IDLE


def test_catalog_user_file_replaces_adds_and_breaks_nothing(tmp_path: Path) -> None:
    (tmp_path / "codex.yaml").write_text("schema: 1\nid: codex\nname: Mine\n")
    (tmp_path / "new.yaml").write_text("schema: 1\nid: new\n")
    (tmp_path / "broken.yaml").write_text("schema: 1\nid: broken\nrules: 5\n")
    catalog = Catalog((BUNDLED, tmp_path))
    codex, new = catalog.get("codex"), catalog.get("new")
    assert codex and codex.name == "Mine" and new and catalog.get("claude")
    assert catalog.problems == [f"{tmp_path / 'broken.yaml'}:3: rules: must be a list"]
    assert not catalog.refresh()
    (tmp_path / "broken.yaml").write_text("schema: 1\nid: mended\n")
    (tmp_path / "codex.yaml").unlink()
    assert catalog.refresh() and catalog.problems == [] and catalog.get("mended")
    codex = catalog.get("codex")
    assert codex and codex.name == "Codex CLI"


def test_catalog_survives_a_missing_and_an_unreadable_place(tmp_path: Path) -> None:
    (tmp_path / "dir.yaml").mkdir()
    os.mkfifo(tmp_path / "fifo.yaml")
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "latin.yaml").write_bytes(b"schema: 1\nid: \xe9\n")
    catalog = Catalog((tmp_path / "missing", tmp_path))
    assert len(catalog) == 0
    files = [Path(problem.split(":")[0]).name for problem in catalog.problems]
    assert files == ["dir.yaml", "fifo.yaml", "gone.yaml", "latin.yaml"]


@pytest.mark.parametrize("name", ["claude", "Claude", "claude-2.1.197", "claude-2.1.332-beta"])
def test_names_people_write(name: str) -> None:
    found = Catalog().find(name)
    if name.endswith("beta"):
        assert found is None
    else:
        assert found is not None and found.id == "claude"


def test_user_directory_follows_xdg() -> None:
    assert user_directory({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}) == Path("/x/agents.tmux/manifests")
    assert user_directory({"HOME": "/h"}) == Path("/h/.config/agents.tmux/manifests")
    # A relative XDG path is to be ignored, says its specification.
    assert user_directory({"XDG_CONFIG_HOME": "x", "HOME": "/h"}) == Path("/h/.config/agents.tmux/manifests")


def test_judged_rows_are_the_rules_own() -> None:
    manifest = demo(
        "  - { id: a, state: blocked, region: box, contains: Allow }\n"
        "  - { id: b, state: idle, region: { last: 1 }, line: x }\n"
    )
    shown = screen("╭───────╮", "│ other │", "╰───────╯", "╭───────╮", "│ Allow │", "╰───────╯", "x")
    assert judged(manifest, shown, "a") == ("───────", " Allow ", "───────")
    assert judged(manifest, shown, "b") == ("x",)
    assert judged(manifest, shown, "none") == ()


def test_the_documented_example_is_a_manifest() -> None:
    page = (BUNDLED.parent / "docs" / "manifests.md").read_text(encoding="utf-8")
    example = parse(page.split("```yaml\n")[1].split("```")[0], "docs/manifests.md")
    frame = ("╭──────────────╮", "│ Allow this   │", "│ command?     │", "│ ❯ 1. Yes     │", "╰──────────────╯")
    blocked = read(example, screen(*frame)).blocked
    assert blocked is not None and blocked.text == "Allow this command?"
    assert state(example, *frame, "> ") is State.IDLE
    for key in (*manifest_module._MATCHER_KEYS, *manifest_module._WHOLE_REGIONS, *manifest_module._COUNTED_REGIONS):
        assert f"`{key}" in page or f"{{ {key}:" in page, key


@given(st.lists(st.text(max_size=60), max_size=40), st.text(max_size=20))
def test_no_text_breaks_a_read(lines: list[str], title: str) -> None:
    for manifest in BUNDLED_MANIFESTS:
        read(manifest, Screen(tuple(lines), title=title, cols=60))
        trace(manifest, Screen(tuple(lines), title=title))
