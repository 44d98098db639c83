"""Text of strangers wherever it can stand: nothing runs, no row is lost, everything shows literally and clipped."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agents_plugin.core.plan import PaneChange
from agents_plugin.core.text import width
from agents_plugin.core.text_forms import for_format
from agents_plugin.tmux import formats
from agents_plugin.tmux.captures import capture
from agents_plugin.tmux.listing import observe
from agents_plugin.tmux.rollup import COMMAND
from agents_plugin.tmux.transactions import write
from tests.support import ROOT, Server, stays, wait_for
from tests.test_runner import runner_of

TRAP = "TRAP"
HOSTILE = {
    "job": "#(touch TRAP)",
    "expand": "#{E:@bait}#{T:@bait}",
    "style": "#[bg=red]#[fg=green]x",
    "shell": "'; touch TRAP #",
    "substitution": "$(touch TRAP)`touch TRAP`",
    "command": "'; run-shell 'touch TRAP' ; '",
    "block": "} ; run-shell { touch TRAP } ; {",
    "branch": ",},#{?1,x,y}}",
    "separators": "a\tb\x1fc|d\\037e_f",
    "escape": "\x1b[31mred\x1b]2;title\x07\x1bPdcs\x1b\\",
    "lines": "one\ntwo\r\n%9|%8\nthree",
    "long": "x" * 100_000,
    "glyphs": "⠂ 漢字 é \u202e\u200b\ufeff",
}
NAMES = [name for name in HOSTILE if name != "long"]


@pytest.fixture
def bait(server: Server) -> Callable[[str], str]:
    """Makes a text whose jobs would leave a file behind, and checks at the end that none did."""
    trap = server.base / "trap"
    server.cmd("set-option", "-g", "@bait", f"#(touch {trap})")
    return lambda name: HOSTILE[name].replace(TRAP, str(trap))


def nothing_ran(server: Server) -> None:
    # A job is asynchronous: give it the time it would need.
    stays(lambda: not (server.base / "trap").exists(), seconds=0.4, what="nothing ran")
    # A directory's name has no slash: its job would leave the file where tmux was started.
    assert not list(Path.cwd().glob("*trap"))


@pytest.mark.versions
def test_case_127_options_of_others_lose_no_row(server: Server, bait: Callable[[str], str]) -> None:
    panes = {server.window("cat"): bait(name) for name in HOSTILE}
    for pane, text in panes.items():
        for option in ("@agent_state", "@agent_status_text", "@agent_display_name", "@agent_hint", "@agent_detail"):
            # An argument has 16 kB at most.
            server.run("set-option", "-p", "-t", pane, option, text[:8000])
        for start in range(8000, len(text), 8000):
            server.run("set-option", "-pa", "-t", pane, "@agent_status_text", text[start : start + 8000])
    server.cmd("set-option", "-p", "-t", "%0", "@agent_state", "idle")
    runner = runner_of(server)
    rows = {row.pane_id: row for row in observe(runner).panes}
    assert list(rows) == ["%0", *panes]
    assert rows["%0"].options == {"@agent_state": "idle"}
    changes = []
    for pane, text in panes.items():
        read = rows[pane].options
        hint = server.option(pane, "@agent_hint")
        assert read["@agent_hint"].replace("\r\n", "\n") == (
            hint if len(hint) < formats.BYTES else hint[: formats.CELLS]
        )
        # tmux 3.5 lists control characters as `\\033`.
        whole = len(read["@agent_status_text"]) >= len(text)
        assert whole or (len(text) > formats.CUT_BYTES and for_format(read["@agent_status_text"]) == "")
        values = {"@agent_state": "blocked", "@agent_status_text": for_format(text), "@agent_detail": "permission"}
        changes.append(PaneChange(pane, "", read["@agent_state"], values, (), {f"AGENTS_{pane[1:]}_V": "1.1"}))
    queue = "".join(f"{pane} " for pane in panes)
    assert write(runner, changes, queue=queue) == set(panes)
    for pane in panes:
        assert server.option(pane, "@agent_state") == "blocked"
        assert width(server.option(pane, "@agent_status_text").replace("##", "#")) <= 32
    assert server.global_option("@agents_summary") == f"blocked:{len(panes)} idle:1"
    assert server.global_option("@agents_queue") == queue
    nothing_ran(server)


@pytest.mark.versions
def test_case_126_names_titles_and_directories_lose_no_row(server: Server, bait: Callable[[str], str]) -> None:
    titled, inside = [], []
    for text in (bait(name) for name in NAMES):
        # tmux expands these arguments itself and would run a job in them: doubled, the name is the text itself.
        literal = text.replace("#", "##")
        place = server.base / text.replace("/", "_")[:200]
        place.mkdir()
        server.run("new-session", "-d", "-s", literal, "-c", str(place).replace("#", "##"), "cat")
        spelled = "".join(f"\\{byte:03o}" for byte in text.encode())
        titled.append(server.window(f"printf '\\033]2;%b\\033\\\\' '{spelled}'; echo titled; exec cat", target="main:"))
        server.run("rename-window", "-t", titled[-1], literal)
        where = ("-c", str(place).replace("#", "##"))
        inside.append(server.cmd("new-window", "-d", "-t", "main:", *where, "-P", "-F", "#{pane_id}", "cat"))
        server.cmd("set-option", "-p", "-t", inside[-1], "@agent_state", "blocked")
    for pane in titled:
        wait_for(lambda pane=pane: "titled" in server.screen(pane), what="titled")  # type: ignore[misc]
    runner = runner_of(server)
    found = observe(runner)
    rows = {row.pane_id: row for row in found.panes}
    assert found.unreadable == ()
    # No two lines of hostile text begin like a pane's row of this listing.
    listed = {
        line[2:] for line in server.cmd("list-panes", "-a", "-F", "=>#{pane_id}").splitlines() if line[:2] == "=>"
    }
    assert set(rows) == listed >= {"%0", *titled, *inside}
    assert all(rows[pane].options == {"@agent_state": "blocked"} for pane in inside)
    assert all(rows[pane].options == {} for pane in titled)
    assert set(capture(runner, list(rows))) == set(rows)
    done = server.run("source-file", "-", stdin=COMMAND + "\n")
    assert not done.stderr
    assert server.global_option("@agents_summary") == f"blocked:{len(inside)}"
    nothing_ran(server)


@pytest.mark.versions
def test_case_129_a_title_of_100_kb(server: Server) -> None:
    other = server.window(
        "printf '\\033]2;'; head -c 100000 /dev/zero | tr '\\0' x; printf '\\033\\\\long\\n'; exec cat"
    )
    wait_for(lambda: "long" in server.screen(other), what="drawn")
    found = observe(runner_of(server))
    assert [row.pane_id for row in found.panes] == ["%0", other]
    assert other in capture(runner_of(server), [other])


@pytest.mark.versions
def test_surfaces_show_text_literally_and_clipped(server: Server, bait: Callable[[str], str]) -> None:
    script = """
        set -g status-left ''
        set -g status-right-length 120
        set -g status-interval 0
        set -g status-style bg=blue,fg=white
        set -g status-right '<#{@agent_status_text}>'
        set -g window-status-format ''
        set -g window-status-current-format ''
    """
    server.run("source-file", "-", stdin=script)
    client = server.attach("main", cols=150)
    runner = runner_of(server)
    for name in HOSTILE:
        shown = for_format(bait(name))
        client.settle(0.1)
        start = len(client.output)
        (row,) = observe(runner).panes
        made = PaneChange("%0", "", row.options.get("@agent_state", ""), {"@agent_status_text": shown}, (), {})
        assert write(runner, [made], rollup=False) == {"%0"}
        wanted = f"<{shown.replace('##', '#')}>"

        def drawn(start: int = start) -> str:
            return client.output[start:].decode(errors="replace")

        wait_for(lambda wanted=wanted: wanted in drawn(), what=f"{name} drawn as {wanted!r}")  # type: ignore[misc]
        assert "\x1b[41m" not in drawn(), "a style of a stranger was obeyed"
    nothing_ran(server)


def test_a_screen_full_of_traps_is_only_text(server: Server, tmp_path: Path) -> None:
    trap = server.base / "trap"
    page = tmp_path / "page"
    page.write_text("".join(text.replace(TRAP, str(trap))[:70].replace("\n", " ") + "\n" for text in HOSTILE.values()))
    other = server.window(f"cat '{page}'; echo the end; exec cat")
    wait_for(lambda: "the end" in server.screen(other), what="drawn")
    screens = capture(runner_of(server), ["%0", other])
    assert set(screens) == {"%0", other}
    assert "the end" in screens[other].lines
    assert any("#(touch" in line for line in screens[other].lines)
    nothing_ran(server)


def test_case_078_and_127_our_sources_name_their_target_and_expand_nothing() -> None:
    for path in sorted((ROOT / "agents_plugin").rglob("*.py")):
        text = path.read_text()
        assert "shell=True" not in text, path
        assert "os.system" not in text, path
        if path.parent.name == "tmux":
            for line in text.splitlines():
                if "set-option -p" in line:
                    assert "-t {pane}" in line, f"{path}: {line}"


def test_the_bait_is_live(server: Server) -> None:
    """What these tests rely on: an expanded job does leave its file."""
    trap = server.base / "trap"
    server.cmd("set-option", "-g", "@bait", f"#(touch {trap})")
    deadline = time.monotonic() + 10
    while not trap.exists() and time.monotonic() < deadline:
        server.run("display-message", "-p", "#{E:@bait}")
        time.sleep(0.05)
    assert trap.exists()
