"""The rollup against real tmux: counts, linked and grouped windows, the segment, the queue, and silence."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from agents_plugin.settings import GLYPHS
from agents_plugin.tmux.contract import ROLLUP_ALIAS
from agents_plugin.tmux.rollup import COMMAND, FORGET, alias_file
from agents_plugin.tmux.transactions import write
from tests.support import ROOT, Server, stays
from tests.test_runner import runner_of

pytestmark = pytest.mark.versions


def load(server: Server) -> None:
    server.cmd("source-file", str(ROOT / "scripts" / "rollup.tmux"))


def roll(server: Server) -> None:
    done = server.run("source-file", "-", stdin=f"{COMMAND}\n")
    assert not done.stderr, done.stderr


def state(server: Server, pane: str, value: str, attention: bool = False) -> None:
    server.cmd("set-option", "-p", "-t", pane, "@agent_state", value)
    server.cmd(
        *(("set-option", "-p") if attention else ("set-option", "-pu")),
        "-t",
        pane,
        "@agent_attention",
        *(["1"] if attention else []),
    )


def summaries(server: Server) -> dict[str, str]:
    rows = server.cmd(
        "list-windows", "-a", "-F", "#{window_id} #{@agent_summary}/#{@agent_attention_count}"
    ).splitlines()
    return {row.split(" ", 1)[0]: row.split(" ", 1)[1] for row in rows}


def test_the_file_is_the_command(server: Server) -> None:
    assert (ROOT / "scripts" / "rollup.tmux").read_text() == alias_file()
    load(server)
    load(server)
    aliases = [line for line in server.cmd("show-options", "-s", "command-alias").splitlines() if ROLLUP_ALIAS in line]
    assert len(aliases) == 1
    state(server, "%0", "blocked")
    server.cmd(ROLLUP_ALIAS)
    assert server.global_option("@agents_summary") == "blocked:1"


def test_counts(server: Server) -> None:
    panes = ["%0", *(server.split("%0") for _ in range(4))]
    other = server.window("cat")
    values = ("blocked", "working", "idle", "unknown", "idle")
    for pane, value in zip(panes, values, strict=True):
        state(server, pane, value, attention=pane == panes[4])
    state(server, other, "working")
    roll(server)
    assert summaries(server) == {"@0": "blocked:1 working:1 idle:2 unknown:1/1", "@1": "working:1/"}
    assert server.session_option("main", "@agent_session_summary") == "blocked:1 working:2 idle:2 unknown:1"
    assert server.global_option("@agents_summary") == "blocked:1 working:2 idle:2 unknown:1"
    for pane in [*panes, other]:
        server.cmd("set-option", "-pu", "-t", pane, "@agent_state")
        server.cmd("set-option", "-pu", "-t", pane, "@agent_attention")
    roll(server)
    assert summaries(server) == {"@0": "/", "@1": "/"}
    left = (
        server.cmd("show-options", "-g") + server.cmd("show-options", "-t", "main") + server.cmd("show-options", "-w")
    )
    assert "@agent" not in left


@pytest.mark.parametrize(
    ("report", "counted"),
    [
        ("blocked:1712345678", "blocked:1"),
        ("needs_input", "blocked:1"),
        ("needs_input:17", "blocked:1"),
        ("working:17", "working:1"),
        ("done", "idle:1"),
        ("errored:1712345678123", "idle:1"),
        ("idle:1", "idle:1"),
        ("none", ""),
        ("blockedish", ""),
        ("unblocked:1", ""),
        ("banana", ""),
    ],
)
def test_raw_reports_count_before_we_cleaned_them(server: Server, report: str, counted: str) -> None:
    state(server, "%0", report)
    roll(server)
    assert server.window_option("@0", "@agent_summary") == counted
    assert server.global_option("@agents_summary") == counted


@pytest.mark.parametrize("name", ["b", "b,c", "main,x", "a*[b]", "x y"])
def test_a_linked_window_counts_once(server: Server, name: str) -> None:
    server.cmd("new-session", "-d", "-s", name, "cat")
    server.cmd("link-window", "-s", "main:0", "-t", f"={name}:5")
    second = server.window("cat", target="main:")
    state(server, "%0", "blocked", attention=True)
    state(server, second, "working")
    roll(server)
    assert server.global_option("@agents_summary") == "blocked:1 working:1"
    assert server.session_option("main", "@agent_session_summary") == "blocked:1 working:1"
    assert server.session_option(f"={name}:", "@agent_session_summary") == "blocked:1"
    assert summaries(server)["@0"] == "blocked:1/1"


def test_grouped_sessions_count_once(server: Server) -> None:
    other = server.window("cat")
    server.cmd("new-session", "-d", "-t", "main", "-s", "again")
    server.cmd("new-session", "-d", "-t", "main", "-s", "thrice")
    state(server, "%0", "idle", attention=True)
    state(server, other, "working")
    roll(server)
    assert server.global_option("@agents_summary") == "working:1 idle:1"
    for session in ("main", "again", "thrice"):
        assert server.session_option(session, "@agent_session_summary") == "working:1 idle:1"


def test_a_killed_pane_leaves_no_count(server: Server) -> None:
    other = server.split("%0")
    state(server, other, "blocked")
    roll(server)
    assert server.window_option("@0", "@agent_summary") == "blocked:1"
    server.cmd("kill-pane", "-t", other)
    roll(server)
    assert server.window_option("@0", "@agent_summary") == ""
    assert server.global_option("@agents_status") == ""


def test_a_moved_pane_counts_where_it_is(server: Server) -> None:
    other = server.split("%0")
    state(server, other, "blocked")
    roll(server)
    server.cmd("break-pane", "-d", "-s", other)
    roll(server)
    assert summaries(server) == {"@0": "/", "@1": "blocked:1/"}


def test_what_somebody_removed_comes_back_when_told_so(server: Server) -> None:
    state(server, "%0", "blocked")
    roll(server)
    server.cmd("set-option", "-wu", "-t", "@0", "@agent_summary")
    server.cmd("set-option", "-gu", "@agents_status")
    roll(server)
    assert server.global_option("@agents_status")
    write(runner_of(server), [], stale=True)
    assert server.window_option("@0", "@agent_summary") == "blocked:1"
    assert FORGET.split()[-1] in server.hidden()


def test_nothing_is_left_of_a_run(server: Server) -> None:
    state(server, "%0", "blocked")
    roll(server)
    assert list(server.hidden()) == ["AGENTS_R_KNOWN"]


# The segment


def test_segment_shows_what_exists(server: Server) -> None:
    roll(server)
    assert server.global_option("@agents_status") == ""
    panes = ["%0", *(server.split("%0") for _ in range(3))]
    state(server, panes[0], "blocked")
    for pane in panes[1:3]:
        state(server, pane, "working")
    state(server, panes[3], "idle")
    roll(server)
    assert server.global_option("@agents_status") == "#[fg=red]▲1#[default] #[fg=yellow]●2#[default]"
    state(server, panes[3], "idle", attention=True)
    roll(server)
    assert server.global_option("@agents_status").endswith("#[fg=yellow]●2#[default] #[fg=green]■1#[default]")


def test_segment_follows_the_options(server: Server) -> None:
    panes = ["%0", *(server.split("%0") for _ in range(4))]
    for pane, value in zip(panes, ("blocked", "working", "idle", "idle", "unknown"), strict=True):
        state(server, pane, value, attention=pane == panes[3])
    server.cmd("set-option", "-g", "@agents-order", "unknown idle done working blocked")
    server.cmd("set-option", "-g", "@agents-glyphs", "ascii")
    server.cmd("set-option", "-g", "@agents-glyph-working", "working >")
    server.cmd("set-option", "-g", "@agents-colour-idle", "#ff0000")
    roll(server)
    assert server.global_option("@agents_status") == (
        "#[fg=default]?1#[default] #[fg=#ff0000]o1#[default] #[fg=green]#1#[default] "
        "#[fg=yellow]working >1#[default] #[fg=red]!1#[default]"
    )


def test_case_168_169_marks_are_one_plain_cell() -> None:
    from agents_plugin.core.text import width

    marks = [mark for pair in GLYPHS.values() for mark in pair]
    assert len(set(marks)) == len(marks)
    for mark in marks:
        assert len(mark) == width(mark) == 1
        assert not "\ue000" <= mark <= "\uf8ff"


def test_segment_and_window_colour_as_drawn(server: Server) -> None:
    server.cmd("set-option", "-g", "status-right", "#{@agents_status}|")
    server.cmd("set-option", "-g", "window-status-format", "#{?#{m:*blocked*,#{@agent_summary}},#[fg=red],}#I:#W")
    server.cmd("set-option", "-g", "@agents-glyphs", "ascii")
    pane = server.window("cat", name="asks")
    quiet = server.window("cat", name="calm")
    state(server, pane, "blocked")
    state(server, quiet, "idle", attention=True)
    roll(server)
    client = server.attach("main", cols=100)
    client.settle()
    drawn = client.output.decode(errors="replace")
    assert "!1" in drawn
    assert "#1" in drawn
    before = drawn.index("1:asks")
    assert "\x1b[31m" in drawn[before - 12 : before]
    calm = drawn.index("2:calm")
    assert "\x1b[31m" not in drawn[calm - 12 : calm]


# The queue


@pytest.mark.parametrize(
    ("queue", "left"),
    [
        ("", ""),
        ("%3 %0 ", "%3 %0 "),
        ("%3 %99 %1 %0 ", "%3 %0 "),
        ("%1 %2 ", ""),
        ("%2 %3 %33 %30 ", "%3 "),
    ],
)
def test_queue_keeps_who_needs_you_in_order(server: Server, queue: str, left: str) -> None:
    for value, attention in (("working", False), ("idle", False), ("idle", True)):
        state(server, server.split("%0"), value, attention)
    state(server, "%0", "blocked")
    if queue:
        server.cmd("set-option", "-g", "@agents_queue", queue)
    roll(server)
    assert server.global_option("@agents_queue") == left


def test_queue_empties_when_nobody_is_left(server: Server) -> None:
    server.cmd("set-option", "-g", "@agents_queue", "%0 %5 ")
    roll(server)
    assert "@agents_queue" not in server.cmd("show-options", "-g")


# Silence


def test_nothing_new_redraws_nothing(server: Server) -> None:
    server.cmd("set-option", "-g", "status-right", "#{@agents_status}")
    server.cmd("set-option", "-g", "status-interval", "0")
    client = server.attach("main", cols=200, rows=50)
    other = server.split("%0")
    state(server, "%0", "blocked", attention=True)
    state(server, other, "working")
    server.cmd("set-option", "-g", "@agents_queue", "%0 ")
    load(server)
    roll(server)
    before = client.settle()
    for _ in range(3):
        roll(server)
        server.cmd(ROLLUP_ALIAS)
    stays(lambda: client.received == before, seconds=0.5, what="no redraw")
    # The order of panes in a window is no news either.
    server.cmd("swap-pane", "-d", "-s", "%0", "-t", other)
    before = client.settle()
    roll(server)
    stays(lambda: client.received == before, seconds=0.5, what="no redraw")
    state(server, other, "idle")
    drawn = client.settle()
    roll(server)
    client.settle()
    assert client.received > drawn


def test_values_of_others_never_become_commands(server: Server, tmp_path: object) -> None:
    trap = f"{tmp_path}/trap"
    for text in (
        f"blocked' ; run-shell 'touch {trap}",
        f"#(touch {trap})",
        f"blocked:}} ; run-shell {{touch {trap}}} #",
        "working:\n",
    ):
        state(server, "%0", text)
        for option in ("@agent_summary", "@agent_attention_count"):
            server.cmd("set-option", "-w", "-t", "@0", option, text)
        server.cmd("set-option", "-t", "main", "@agent_session_summary", text)
        for option in ("@agents_summary", "@agents_status", "@agents_queue"):
            server.cmd("set-option", "-g", option, text)
        server.run("rename-window", "-t", "@0", text.replace("#(", "# ("))
        server.run("source-file", "-", stdin=f"{FORGET}\n{COMMAND}\n")
        assert server.window_option("@0", "@agent_attention_count") == ""
    stays(lambda: server.run("run-shell", f"test ! -e {trap}").returncode == 0, seconds=0.3, what="nothing ran")


def test_an_expansion_cut_short_publishes_nothing(server: Server) -> None:
    """tmux >= 3.7 gives up on a format after 100 ms: counts that were not finished must not be shown."""
    if server.version.startswith(("3.2", "3.3", "3.4", "3.5")):
        pytest.skip("this tmux takes the time a format needs")
    lines = "".join(
        "new-window -d cat\n" + "split-window -d -t :$ cat\nselect-layout -t :$ tiled\n" * 3 for _ in range(20)
    )
    server.run("source-file", "-", stdin=lines, timeout=60)
    ids = server.cmd("list-panes", "-a", "-F", "#{pane_id}").splitlines()
    server.run("source-file", "-", stdin="".join(f"set -p -t {pane} @agent_state blocked\n" for pane in ids))
    server.cmd("set-option", "-g", "@agents_queue", "%5 %0 ")
    roll(server)
    pid, total = server.pid, len(ids)
    old, new = f"blocked:{total}", f"blocked:{total - 1} working:1"
    before = summaries(server)
    state(server, "%0", "working")
    for _ in range(2):
        asked = threading.Thread(target=roll, args=(server,))
        asked.start()
        while asked.is_alive():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.11)
            os.kill(pid, signal.SIGCONT)
            slice_ends = time.monotonic() + 0.0004
            while time.monotonic() < slice_ends:
                pass
        assert server.global_option("@agents_summary") in (old, new)
        assert server.session_option("main", "@agent_session_summary") in (old, new)
        assert server.global_option("@agents_queue") in ("%5 %0 ", "%5 ")
        now = summaries(server)
        assert {window for window in now if now[window] != before[window]} <= {"@0"}
        assert now["@0"] in (before["@0"], "working:1/")
    roll(server)
    assert server.global_option("@agents_summary") == new
    assert summaries(server) == before | {"@0": "working:1/"}


def test_many_panes_with_deaths_inside_a_batch(server: Server) -> None:
    lines = "".join(
        "new-window -d cat\n" + "split-window -d -t :$ cat\nselect-layout -t :$ tiled\n" * 3 for _ in range(15)
    )
    server.run("source-file", "-", stdin=lines, timeout=60)
    ids = server.cmd("list-panes", "-a", "-F", "#{pane_id}").splitlines()
    assert len(ids) > 50
    script = ""
    for number, pane in enumerate(ids):
        kill = f"kill-pane -t {ids[number - 1]}\n" if number % 5 == 4 else ""
        script += (
            f"{kill}if-shell -F -t {pane} '#{{==:#{{pane_id}},{pane}}}' {{ set -p -t {pane} @agent_state working }}\n"
        )
    server.run("source-file", "-", stdin=script + COMMAND + "\n", timeout=60)
    alive = server.cmd("list-panes", "-a", "-F", "#{@agent_state}").splitlines()
    assert alive.count("working") == len(alive) == len(ids) - len(ids) // 5
    assert server.global_option("@agents_summary") == f"working:{len(alive)}"
    per_window = [text.split("/")[0] for text in summaries(server).values()]
    assert sum(int(text.partition(":")[2] or 0) for text in per_window) == len(alive)


@pytest.mark.parametrize("order", ["bogus", "blocked,working", "blocked; #(touch x)", "#{@agent_state}"])
def test_a_slip_in_the_order_hides_no_blocked_agent(server: Server, order: str) -> None:
    """Anything but our own words counts as the default, as doctor says."""
    server.cmd("source-file", str(ROOT / "scripts" / "rollup.tmux"))
    server.cmd("set-option", "-p", "-t", "%0", "@agent_state", "blocked")
    server.cmd("set-option", "-g", "@agents-order", order)
    server.cmd("run-shell", "-C", "agents-rollup")
    assert "▲1" in server.global_option("@agents_status")
