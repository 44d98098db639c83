"""One process, one Snapshot: every pane, whatever its neighbours are called."""

from __future__ import annotations

import pytest

from agents_plugin.tmux.captures import capture
from agents_plugin.tmux.listing import ListingError, observe, parse
from agents_plugin.tmux.runner import Runner, ServerGone
from tests.support import Client, Server, wait_for
from tests.test_runner import runner_of

pytestmark = pytest.mark.versions


def test_a_server_as_it_is(server: Server) -> None:
    other = server.window("cat", name="second")
    beside = server.split(other)
    server.cmd("set-option", "-p", "-t", beside, "@agent_state", "working:1712345678")
    server.cmd("set-option", "-p", "-t", beside, "@agent_status_text", "two\twords | here")
    server.cmd("set-option", "-g", "@agents-dwell", "5")
    server.cmd("set-option", "-g", "@agents_queue", "%1 ")
    server.cmd("set-environment", "-gh", "AGENTS_2_V", "17.4")
    server.cmd("set-environment", "-gh", "OTHER", "x")
    runner = runner_of(server)
    found = observe(runner)
    assert runner.processes == 1
    assert [pane.pane_id for pane in found.panes] == ["%0", other, beside]
    first, _, last = found.panes
    assert (first.width, first.height, first.session_name) == (80, 24, "main")
    assert first.command in ("cat", "sh")
    assert last.options == {"@agent_state": "working:1712345678", "@agent_status_text": "two\twords | here"}
    assert first.options == {}
    assert (last.window_name, last.window_index, last.pane_index, last.active, last.dead) == (
        "second",
        1,
        1,
        False,
        False,
    )
    assert last.pane_pid == int(server.format(beside, "#{pane_pid}"))
    assert last.tty.startswith("/dev/")
    assert last.path == server.format(beside, "#{pane_current_path}")
    assert found.settings == {"@agents-dwell": "5"}
    assert found.globals == {"@agents_queue": "%1 "}
    assert found.environment == {"AGENTS_2_V": "17.4"}
    assert (found.server_pid, found.version) == (server.pid, server.version)
    assert found.clients == ()
    assert found.unreadable == ()


def test_clients(server: Server) -> None:
    client = server.attach("main")
    server.window("cat", detached=False)
    (seen,) = observe(runner_of(server)).clients
    assert (seen.name, seen.session_id, seen.pane_id) == (client.name, "$0", "%1")
    assert seen.activity >= seen.created > 1_600_000_000
    assert not seen.control


def test_a_pane_is_listed_once(server: Server) -> None:
    server.cmd("new-session", "-d", "-t", "main", "-s", "grouped")
    other = server.cmd("new-session", "-d", "-s", "b,c", "-P", "-F", "#{pane_id}", "cat")
    server.cmd("link-window", "-s", "main:0", "-t", "b,c:5")
    assert sorted(pane.pane_id for pane in observe(runner_of(server)).panes) == ["%0", other]


def test_a_server_without_sessions_is_no_error(bare_server: Server) -> None:
    bare_server.start()
    bare_server.cmd("set-option", "-s", "exit-empty", "off")
    bare_server.cmd("kill-session", "-t", "main")
    assert observe(runner_of(bare_server)).panes == ()


def test_case_149_an_answer_without_its_frame_is_an_error(server: Server) -> None:
    for answer in ("", "_P_%0_\n", "<nonceS|1|2|3\n"):
        with pytest.raises(ListingError):
            parse(answer, "nonce")
    good = observe(runner_of(server))
    assert good.panes
    server.kill()
    with pytest.raises(ServerGone):
        observe(runner_of(server))


def test_case_149_rows_nobody_can_read_are_not_no_panes() -> None:
    from agents_plugin.tmux import listing

    head = f"<nS|1|2|3.3a{'>n:' * len(listing._SERVER_TEXTS)}\n<nV|\n"
    with pytest.raises(ListingError):
        parse(f"{head}<nP|%0|garbled\n", "n")
    row = "|".join(["%1", *["1"] * (len(listing._PANE_FACTS) - 1)]) + ">n:" * len(listing._PANE_TEXTS)
    found = parse(f"{head}<nP|%0|garbled\n<nP|{row}\n", "n")
    assert [pane.pane_id for pane in found.panes] == ["%1"]
    assert found.unreadable == ("%0",)


def test_case_150_the_listing_does_not_depend_on_a_locale(server: Server) -> None:
    server.cmd("set-option", "-p", "-t", "%0", "@agent_status_text", "⠂ Fix\tlogin")
    bare = {name: value for name, value in server.env.items() if name not in ("LANG", "LC_ALL")}
    (pane,) = observe(Runner(server.socket, binary=server.binary.path, environment=bare)).panes
    assert pane.options["@agent_status_text"] == "⠂ Fix\tlogin"


def test_screens_in_one_process(server: Server) -> None:
    other = server.window("printf 'one │ two\\n\\n  three   \\n'; printf '\\033]2;⠂ Fix | login\\033\\\\'; exec cat")
    wait_for(lambda: "three" in server.screen(other), what="drawn")
    runner = runner_of(server)
    screens = capture(runner, [other, "%99", "%0"])
    assert runner.processes == 1
    assert list(screens) == [other, "%0"]
    screen = screens[other]
    assert screen.lines[:3] == ("one │ two", "", "  three")
    assert len(screen.lines) == 24
    assert (screen.title, screen.cols) == ("⠂ Fix | login", 80)
    assert (screen.cursor_x, screen.cursor_y, screen.cursor_shown, screen.alternate) == (0, 3, True, False)
    assert capture(runner, []) == {}
    assert runner.processes == 1


def test_a_pane_that_dies_costs_only_itself(server: Server) -> None:
    ids = [server.window("cat") for _ in range(6)]
    for gone in (ids[0], ids[3], ids[5]):
        server.cmd("kill-pane", "-t", gone)
    assert list(capture(runner_of(server), ids)) == [ids[1], ids[2], ids[4]]


def test_cursor_and_alternate_screen(server: Server) -> None:
    other = server.window("printf '\\033[?1049h\\033[?25lhidden'; exec cat")
    wait_for(lambda: "hidden" in server.screen(other), what="drawn")
    screen = capture(runner_of(server), [other])[other]
    assert (screen.cursor_shown, screen.alternate, screen.lines[0]) == (False, True, "hidden")


def test_case_176_copy_mode_does_not_hide_the_live_screen(server: Server) -> None:
    other = server.window("seq 1 200; echo the end; exec cat")
    wait_for(lambda: "the end" in server.screen(other), what="drawn")
    server.cmd("copy-mode", "-t", other)
    server.cmd("send-keys", "-t", other, "-X", "history-top")
    runner = runner_of(server)
    assert "the end" in capture(runner, [other])[other].lines
    row = next(pane for pane in observe(runner).panes if pane.pane_id == other)
    assert row.in_mode
    assert row.scroll_position > 0


def test_case_172_any_bytes(server: Server) -> None:
    junk = "\\000\\377\\376\\302 e\\314\\201 \\360\\237\\221\\251\\342\\200\\215 \\355\\240\\200 x"
    other = server.window(f"printf '{junk}\\nend\\n'; printf '\\033]2;a\\377b\\033\\\\'; exec cat")
    wait_for(lambda: "end" in server.screen(other), what="drawn")
    runner = runner_of(server)
    screen = capture(runner, [other])[other]
    assert "end" in screen.lines
    "".join(screen.lines).encode()  # nothing that cannot be written out
    assert other in [pane.pane_id for pane in observe(runner).panes]


def test_case_098_a_client_in_a_linked_window_is_where_it_is(server: Server) -> None:
    server.cmd("new-session", "-d", "-s", "b", "cat")
    server.cmd("link-window", "-s", "main:0", "-t", "b:5")
    client: Client = server.attach("b")
    server.cmd("select-window", "-t", "b:5")
    (seen,) = observe(runner_of(server)).clients
    assert (seen.name, seen.session_id, seen.pane_id) == (client.name, "$1", "%0")
