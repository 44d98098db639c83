"""Transactions: all or nothing, decided by the server, silent when lost; eight writers at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents_plugin.core.plan import PaneChange
from agents_plugin.core.text_forms import even
from agents_plugin.tmux import transactions
from agents_plugin.tmux.contract import quote
from agents_plugin.tmux.listing import observe
from agents_plugin.tmux.transactions import fit, write
from tests.support import Server, stays
from tests.test_runner import runner_of

HARD = [
    "it's",
    "end;",
    ";",
    "a ; b",
    '"quoted"',
    "$HOME ${HOME} $(id) `id`",
    "~/x",
    "back\\slash\\",
    "{ } {",
    "} ; kill-server ; {",
    "#{pane_id} #{E:x} #(id) #",
    "%if %endif %1",
    "# comment",
    "⠂ é │ 漢字",
    "-t %0",
    "'; kill-server ; '",
    "a=b",
    "",
]


def change(pane: str, expected: tuple[str, str] = ("", ""), **kwargs: object) -> PaneChange:
    return PaneChange(pane, expected[0], expected[1], **kwargs)  # type: ignore[arg-type]


@pytest.mark.versions
def test_writes_options_and_hidden_variables_together(server: Server) -> None:
    server.cmd("set-option", "-p", "-t", "%0", "@agent_detail", "old")
    made = change(
        "%0",
        set={"@agent_state": "working", "@agent_source": "hook"},
        unset=("@agent_detail", "@agent_model"),
        env={"AGENTS_0_V": "17.4", "AGENTS_0_CLAIM": "working|17|hook"},
    )
    runner = runner_of(server)
    assert write(runner, [made]) == {"%0"}
    assert runner.processes == 1
    (row,) = observe(runner).panes
    assert row.options == {"@agent_state": "working", "@agent_source": "hook"}
    assert server.hidden()["AGENTS_0_V"] == "17.4"
    assert row.window_summary == "working:1"
    gone = change("%0", ("17.4", "working"), unset=("@agent_state", "@agent_source"), env={"AGENTS_0_CLAIM": ""})
    assert write(runner, [gone]) == {"%0"}
    (row,) = observe(runner).panes
    assert (row.options, row.window_summary) == ({}, "")
    assert "AGENTS_0_CLAIM" not in server.hidden()


@pytest.mark.versions
@pytest.mark.parametrize("text", HARD)
def test_case_127_a_value_arrives_as_it_is(server: Server, text: str) -> None:
    runner = runner_of(server)
    text = even(text)
    other = change("%0", set={"@agent_status_text": text, "@agent_state": "idle"})
    assert write(runner, [other]) == {"%0"}
    (row,) = observe(runner).panes
    assert row.options.get("@agent_status_text", "") == text
    assert row.options["@agent_state"] == "idle"


@pytest.mark.parametrize(
    ("raw", "published"),
    [
        ("two\nlines\r\nthere", "two lines there"),
        ("tab\tand\x1f\x00bell\x07", "tab and bell"),
        ("\x1b[31mred\x1b]2;t\x07", "red"),
        ("#[bg=red]x", "##[bg=red]x"),
        ("###[x", "####[x"),
        ("##[x", "##[x"),
        ("x" * 100_000, "x" * transactions.LONGEST),
    ],
)
def test_case_129_what_tmux_would_obey_is_made_harmless(server: Server, raw: str, published: str) -> None:
    assert fit(raw) == published
    assert fit(fit(raw)) == fit(raw)
    assert write(runner_of(server), [change("%0", set={"@agent_status_text": raw})]) == {"%0"}
    assert server.option("%0", "@agent_status_text") == published


def test_a_line_break_is_never_quoted() -> None:
    for text in ("a\nb", "a\rb", "a\0b"):
        with pytest.raises(ValueError, match="quoted"):
            quote(text)


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(change("%0; kill-server"), id="case-128-pane"),
        pytest.param(change("%0", set={"status-left": "x"}), id="option-not-ours"),
        pytest.param(change("%0", set={"@agent_x ; kill-server": "x"}), id="option-name"),
        pytest.param(change("%0", unset=("@other",)), id="unset-not-ours"),
        pytest.param(change("%0", env={"PATH": "x"}), id="variable-not-ours"),
        pytest.param(change("%0", env={"AGENTS_0_V": "a b"}), id="variable-value"),
        pytest.param(change("%0", ("1},x", "")), id="version"),
    ],
)
def test_names_that_are_not_ours_are_refused(server: Server, bad: PaneChange) -> None:
    runner = runner_of(server)
    with pytest.raises(ValueError, match="not"):
        write(runner, [bad])
    assert runner.processes == 0


@pytest.mark.versions
def test_a_lost_write_changes_and_redraws_nothing(server: Server) -> None:
    client = server.attach("main", cols=200, rows=50)
    server.cmd("set-option", "-g", "status-interval", "0")
    server.cmd("set-option", "-p", "-t", "%0", "@agent_state", "idle")
    server.cmd("set-environment", "-gh", "AGENTS_0_V", "2.2")
    runner = runner_of(server)
    write(runner, [], stale=True)
    before = client.settle()
    for expected in (("1.1", "idle"), ("2.2", "working"), ("", "idle"), ("2.2", ""), ("2.2", "idle:")):
        lost = change("%0", expected, set={"@agent_state": "blocked"}, env={"AGENTS_0_V": "3.3"})
        assert write(runner, [lost]) == frozenset()
    stays(lambda: client.received == before, seconds=0.5, what="a lost write costs no byte")
    assert server.option("%0", "@agent_state") == "idle"
    assert server.hidden()["AGENTS_0_V"] == "2.2"
    hidden = change("%0", ("2.2", "idle"), env={"AGENTS_0_V": "4.4"})
    assert write(runner, [hidden]) == {"%0"}
    stays(lambda: client.received == before, seconds=0.5, what="book-keeping costs no byte")
    assert write(runner, [change("%0", ("4.4", "idle"), set={"@agent_state": "blocked"})]) == {"%0"}
    client.settle()
    assert client.received > before, "the counter counts nothing"


@pytest.mark.versions
def test_garbage_in_the_state_is_replaced(server: Server) -> None:
    runner = runner_of(server)
    for raw in ("#{E:x},} #(id)", "blo cked", "a,b", "é"):
        server.cmd("set-option", "-p", "-t", "%0", "@agent_state", raw)
        (row,) = observe(runner).panes
        made = change("%0", ("", row.options["@agent_state"]), set={"@agent_state": "idle"})
        assert write(runner, [made]) == {"%0"}
        assert write(runner, [made]) == frozenset()


@pytest.mark.versions
def test_dead_panes_cost_only_themselves(server: Server) -> None:
    ids = [server.window("cat") for _ in range(8)]
    for gone in ids[1::3]:
        server.cmd("kill-pane", "-t", gone)
    wanted = [change(pane, set={"@agent_state": "blocked"}) for pane in ["%77", *ids]]
    accepted = write(runner_of(server), wanted, queue="".join(f"{pane} " for pane in ids))
    left = [pane for pane in ids if pane not in ids[1::3]]
    assert accepted == set(left)
    assert server.global_option("@agents_summary") == f"blocked:{len(left)}"
    assert server.global_option("@agents_queue") == "".join(f"{pane} " for pane in left)


def test_queue_and_forgetting(server: Server) -> None:
    client = server.attach("main")
    server.cmd("set-option", "-g", "status-interval", "0")
    runner = runner_of(server)
    write(runner, [change("%0", set={"@agent_state": "blocked"}, env={"AGENTS_0_V": "1.1"})], queue="%0 ")
    before = client.settle()
    write(runner, [], queue="%0 ")
    stays(lambda: client.received == before, seconds=0.4, what="the same queue again")
    write(runner, [], queue="")
    assert server.global_option("@agents_queue") == ""
    for bad in ("%0", "x ", "%0 ; "):
        with pytest.raises(ValueError, match="queue"):
            write(runner, [], queue=bad)
    for name in ("V", "CLAIM", "PUB"):
        server.cmd("set-environment", "-gh", f"AGENTS_7_{name}", "1")
    write(runner, [], forget=["%7"])
    assert [name for name in server.hidden() if name.startswith("AGENTS_7_")] == []
    count = runner.processes
    assert write(runner, []) == frozenset()
    assert runner.processes == count


def test_a_batch_without_the_alias_is_written(server: Server) -> None:
    server.cmd("set-option", "-s", "command-alias", "x=list-panes")
    assert write(runner_of(server), [change("%0", set={"@agent_state": "idle"})]) == {"%0"}


# Eight writers

_STATES = ("working", "blocked", "idle", "unknown")


def _tuple(state: str, token: str, marked: bool) -> PaneChange:
    """A tuple whose parts tell whether they belong together."""
    stamp = token.partition(".")[0]
    values = {
        "@agent_state": state,
        "@agent_source": "screen",
        "@agent_since": stamp,
        "@agent_evidence_at": stamp,
        "@agent_status_text": f"{state} {stamp}",
    }
    values |= {"@agent_attention": "1"} if marked else {}
    unset = () if marked else ("@agent_attention",)
    return change("%0", set=values, unset=unset, env={"AGENTS_0_V": token, "AGENTS_0_PUB": state})


def _torn(row: dict[str, str], published: str) -> str:
    stamp, state = row.get("@agent_since", ""), row.get("@agent_state", "")
    if row and published == state and row.get("@agent_evidence_at") != stamp:
        return f"two times: {row}"
    if row and published == state and row.get("@agent_status_text") != f"{state} {stamp}":
        return f"text of another state: {row}"
    return ""


class Writers:
    """Eight threads that change one pane in every way there is, as fast as they can."""

    def __init__(self, server: Server, rounds: int) -> None:
        self.server = server
        self.rounds = rounds
        self.accepted = 0
        self.lost = 0
        self.torn: list[str] = []
        self.errors: list[BaseException] = []
        self.done = threading.Event()
        self._lock = threading.Lock()

    def passes(self, number: int) -> None:
        """Observe and write what was decided on it, as a pass does."""
        runner, dice = runner_of(self.server), random.Random(number)
        for turn in range(self.rounds):
            seen = observe(runner)
            (row,) = seen.panes
            token = f"{time.time_ns() // 1000 + number}.{number}{turn}"
            made = _tuple(dice.choice(_STATES), token, dice.random() < 0.5)
            expected = (seen.environment.get("AGENTS_0_V", ""), row.options.get("@agent_state", ""))
            made = change("%0", expected, set=made.set, unset=made.unset, env=made.env)
            won = "%0" in write(runner, [made], queue="%0 " if made.set["@agent_state"] == "blocked" else "")
            with self._lock:
                self.accepted += won
                self.lost += not won

    def reports(self, number: int) -> None:
        """A program reports about itself."""
        runner, dice = runner_of(self.server), random.Random(number)
        for _ in range(self.rounds):
            runner.run(
                "set-option", "-p", "-t", "%0", "@agent_state", f"{dice.choice(_STATES)}:{time.time_ns() // 10**6}"
            )

    def clears(self, number: int) -> None:
        """The focus hook takes the mark down."""
        runner = runner_of(self.server)
        for _ in range(self.rounds):
            runner.source("set-option -pqu -t %0 @agent_attention\nagents-rollup\n")

    def watch(self) -> None:
        """A concurrent reader: never half a tuple."""
        runner = runner_of(self.server)
        while not self.done.is_set():
            seen = observe(runner)
            (row,) = seen.panes
            problem = _torn(row.options, seen.environment.get("AGENTS_0_PUB", ""))
            if problem:
                self.torn.append(problem)

    def run(self) -> None:
        roles = [self.passes] * 5 + [self.reports] * 2 + [self.clears]
        threads = [threading.Thread(target=self._guarded, args=(role, n)) for n, role in enumerate(roles, 1)]
        reader = threading.Thread(target=self.watch)
        for thread in [reader, *threads]:
            thread.start()
        for thread in threads:
            thread.join()
        self.done.set()
        reader.join()

    def _guarded(self, role: object, number: int) -> None:
        try:
            role(number)  # type: ignore[operator]
        except BaseException as error:
            self.errors.append(error)


@pytest.fixture
def loaded(server: Server) -> Iterator[Server]:
    server.cmd("source-file", str(Path(__file__).parent.parent / "scripts" / "rollup.tmux"))
    yield server


@pytest.mark.timeout(240)
def test_case_183_eight_writers_leave_one_whole_tuple(loaded: Server) -> None:
    rounds = 200
    writers = Writers(loaded, rounds)
    writers.run()
    assert not writers.errors
    assert not writers.torn, writers.torn[:3]
    assert writers.accepted + writers.lost == 5 * rounds
    assert writers.accepted > 0
    assert writers.lost > 0, "nobody raced: the test proves nothing"
    # Whoever was last, one quiet pass brings everything together.
    runner = runner_of(loaded)
    seen = observe(runner)
    (row,) = seen.panes
    last = _tuple("blocked", "99.9", marked=True)
    expected = (seen.environment.get("AGENTS_0_V", ""), row.options.get("@agent_state", ""))
    assert write(runner, [change("%0", expected, set=last.set, env=last.env)], queue="%0 ") == {"%0"}
    (row,) = observe(runner).panes
    assert _torn(row.options, "blocked") == ""
    assert (row.window_summary, row.window_attention, row.session_summary) == ("blocked:1", "1", "blocked:1")
    assert loaded.global_option("@agents_queue") == "%0 "
