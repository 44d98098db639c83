"""Whatever stands in an input: nothing is raised, no item takes longer than its bound, no other item is lost."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agents_plugin import settings as options
from agents_plugin.core import memory
from agents_plugin.core.hookfold import HookLog
from agents_plugin.core.hooks import interpret
from agents_plugin.core.plan import Published
from agents_plugin.core.report import parse_claim, parse_report, serialise_claim
from agents_plugin.events import key_of, payload_of
from agents_plugin.host import spool
from agents_plugin.host.faults import Faults
from agents_plugin.host.records import claude_record
from agents_plugin.manifests import ManifestFileError, parse
from agents_plugin.recollection import load
from agents_plugin.tmux import captures, listing
from agents_plugin.tmux.listing import ListingError
from tests.fixtures_index import CATALOG
from tests.test_spool import now, put

#: CPU seconds one item may take, and how often more for a machine that is slow by itself.
BOUND_S, SLACK = 0.05, 4
HOOKS = [manifest for manifest in CATALOG if manifest.hooks]
NASTY = ["9" * 5000, "²", "-1", "nan", "\x1b]52;c;x\x07", "\u2028", "\udcff", "#(touch x)", "|" * 50, "%99999999999"]
TEXT = st.one_of(st.text(max_size=60), st.sampled_from(NASTY))
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=20,
)
DEEP = "[" * 100_000
FEW = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@contextmanager
def bounded() -> Iterator[None]:
    gc.disable()  # what a collection costs grows with the test run, not with the item
    try:
        begun = time.process_time()
        yield
        assert time.process_time() - begun < BOUND_S * SLACK
    finally:
        gc.enable()


HEADER = st.dictionaries(
    st.sampled_from(["agent", "event", "parent", "grandparent", "time", "uptime", "env.CLAUDE_PID", "env.TMUX", "x"]),
    TEXT,
    max_size=8,
)
STAT = st.builds(
    lambda pid, name, above, start: f"{pid} ({name}) S {above} {'1 ' * 17}{start} 1\n",
    *(st.sampled_from([*NASTY, "11", "1", "claude"]) for _ in range(4)),
)


@FEW
@given(HEADER, st.one_of(STAT, st.just("")), st.one_of(JSON.map(lambda data: json.dumps(data)), TEXT, st.just(DEEP)))
def test_a_spool_file(tmp_path: Path, header: dict[str, str], stat: str, payload: str) -> None:
    head = "".join(f"{key}={value}\n" for key, value in header.items()).encode("utf-8", "surrogatepass")
    put(tmp_path, "1.0", (stat + payload).encode("utf-8", "surrogatepass"), b"agent=claude\n" + head)
    put(tmp_path, "2.0", b'{"a":1}')
    faults = Faults()
    with bounded():
        events = spool.Spool(tmp_path, faults).pending(now())
    assert "2.0" in {event.path.name for event in events} and faults.problems == []
    for event in events:
        with bounded():
            signal = interpret(HOOKS[0].hooks, event.event, payload_of(event), event.at_ms, key_of(event))  # type: ignore[arg-type]
            HookLog().hearing([signal] if signal else []).folded()


@FEW
@given(st.sampled_from(HOOKS), st.data(), JSON)
def test_an_event(manifest: Any, data: st.DataObject, extra: object) -> None:
    hooks = manifest.hooks
    event = data.draw(st.sampled_from(sorted({name for rule in hooks.events for name in rule.on})))
    paths = {condition.steps for rule in hooks.events for condition in rule.when} | {*hooks.session, *hooks.turn}
    payload: dict[str, Any] = {steps[0]: data.draw(JSON) for steps in sorted(paths)[:8]}
    with bounded():
        signal = interpret(hooks, event, {**payload, "extra": extra}, 1, "k")
        HookLog().hearing([signal, signal] if signal else []).folded()


def answer(rows: list[tuple[list[str], list[str]]]) -> str:
    """A listing with these panes behind a good one."""
    good = (["%7", *["1"] * (len(listing._PANE_FACTS) - 1)], ["x"] * len(listing._PANE_TEXTS))
    text = "<nS|1|2|3.4" + ">n:" * len(listing._SERVER_TEXTS) + "\n<nV|\nAGENTS_7_V=1\n"
    return text + "".join(f"<nP|{'|'.join(f)}" + "".join(f">n:{t}" for t in texts) + "\n" for f, texts in (*rows, good))


@FEW
@given(st.lists(st.tuples(st.lists(TEXT, max_size=30), st.lists(TEXT, max_size=40)), max_size=3), TEXT)
def test_a_listing(rows: list[tuple[list[str], list[str]]], text: str) -> None:
    with bounded():
        snapshot = listing.parse(answer(rows), "n")
        assert "%7" in {row.pane_id for row in snapshot.panes}
        for row in snapshot.panes:
            Published.of(row.pane_id, dict.fromkeys(row.options, text), {"AGENTS_7_CLAIM": text}).verdict()
    try:
        listing.parse(text, "n")
        listing.parse(f"<nS|{text}" + ">n:" * len(listing._SERVER_TEXTS) + "<nV|", "n")
    except ListingError:
        pass
    captures.parse(f"n 1 {text} n{text}", "n")


@FEW
@given(TEXT, st.lists(TEXT, min_size=8, max_size=8))
def test_reports_and_claims(text: str, fields: list[str]) -> None:
    with bounded():
        parse_report(text, 5)
        for raw in (text, "|".join(fields), "|".join(("idle", fields[0], "hook", *fields[1:6]))):
            claim = parse_claim(raw)
            assert claim is None or parse_claim(serialise_claim(claim)) is not None


@FEW
@given(JSON, st.dictionaries(st.sampled_from(["status", "waitingFor", "kind", "statusUpdatedAt", "sessionId"]), JSON))
def test_records_and_what_was_remembered(data: Any, record: dict[str, Any]) -> None:
    faults = Faults()
    whole = {"chrome": data, "chrome_mono": data, "claim": data, "claim_mono": data, "before": data, "beaten": data}
    voice = {"agent": "claude", "pid": 1, "started": None, "base": data, "signals": data}
    with bounded():
        claude_record(record, 5)
        memory.load(data)
        minds = load({"%1": {"memory": whole, "voice": voice, "due": data}, "%2": {"memory": {}}}, faults)
    assert "%2" in minds


@FEW
@given(st.dictionaries(st.sampled_from(sorted(options.BY_NAME)), TEXT), st.dictionaries(TEXT, TEXT, max_size=3))
def test_settings(values: dict[str, str], others: dict[str, str]) -> None:
    with bounded():
        parsed = options.parse({**values, **others})
    assert 0 <= parsed.dwell_ms < 10**9


@FEW
@given(JSON, st.sampled_from(["rules", "patterns", "identity", "hooks", "dwell", "visible", "id", "aliases", "resume"]))
@example(0, "schema")
def test_a_manifest(data: object, key: str) -> None:
    try:
        parse(json.dumps({"schema": 1, "id": "x", "identity": {"names": ["x"]}, key: data}), "mine.yaml")
    except ManifestFileError as error:
        assert len(str(error)) < 600
