"""Text of strangers wherever it can stand: nothing runs, no row is lost, everything shows literally and clipped."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agents_plugin.core.plan import PaneChange
from agents_plugin.core.text import clean, width
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


@pytest.mark.versions
@pytest.mark.parametrize("name", HOSTILE)
def test_case_127_options_of_others_lose_no_row(server: Server, bait: Callable[[str], str], name: str) -> None:
    text = bait(name)
    other = server.window("cat")
    for option in ("@agent_state", "@agent_status_text", "@agent_display_name", "@agent_hint", "@agent_detail"):
        # By a script: an argument has 16 kB at most, and its last semicolon is eaten.
        server.run("set-option", "-p", "-t", "%0", option, text[:8000])
    if len(text) > 8000:
        for _ in range(4):
            server.run("set-option", "-pa", "-t", "%0", "@agent_status_text", text[:8000])
    server.cmd("set-option", "-p", "-t", other, "@agent_state", "idle")
    runner = runner_of(server)
    found = observe(runner)
    assert [row.pane_id for row in found.panes] == ["%0", other]
    first, second = found.panes
    assert first.options["@agent_hint"].replace("\r\n", "\n") == server.option("%0", "@agent_hint")
    assert second.options == {"@agent_state": "idle"}
    made = PaneChange(
        "%0",
        "",
        first.options["@agent_state"],
        {"@agent_state": "blocked", "@agent_status_text": clean(text), "@agent_detail": "permission"},
        (),
        {"AGENTS_0_V": "1.1"},
    )
    assert write(runner, [made], queue="%0 ") == {"%0"}
    assert server.option("%0", "@agent_state") == "blocked"
    shown = server.option("%0", "@agent_status_text")
    assert width(shown.replace("##", "#")) <= 32
    assert server.global_option("@agents_summary") == "blocked:1 idle:1"
    nothing_ran(server)


@pytest.mark.versions
@pytest.mark.parametrize("name", NAMES)
def test_case_126_names_titles_and_directories_lose_no_row(
    server: Server, bait: Callable[[str], str], name: str
) -> None:
    text = bait(name).replace("\0", "")
    # tmux expands these arguments itself and would run a job in them: doubled, the name is the text itself.
    literal = text.replace("#", "##")
    place = server.base / text.replace("/", "_")[:200]
    place.mkdir()
    server.run("new-session", "-d", "-s", literal, "-c", str(place).replace("#", "##"), "cat")
    spelled = "".join(f"\\{byte:03o}" for byte in text.encode())
    titled = server.window(f"printf '\\033]2;%b\\033\\\\' '{spelled}'; echo titled; exec cat")
    server.run("rename-window", "-t", titled, literal)
    wait_for(lambda: "titled" in server.screen(titled), what="titled")
    inside = server.run(
        "new-window", "-d", "-c", str(place).replace("#", "##"), "-P", "-F", "#{pane_id}", "cat"
    ).stdout.strip()
    server.cmd("set-option", "-p", "-t", inside, "@agent_state", "blocked")
    runner = runner_of(server)
    found = observe(runner)
    listed = set(server.cmd("list-panes", "-a", "-F", "#{pane_id}").splitlines()) - {""}
    assert {row.pane_id for row in found.panes} >= {"%0", titled, inside}
    assert {row.pane_id for row in found.panes} == {
        pane for pane in listed if pane.startswith("%") and pane[1:].isdigit()
    }
    assert found.unreadable == ()
    rows = {row.pane_id: row for row in found.panes}
    assert rows[inside].options == {"@agent_state": "blocked"}
    assert rows[titled].options == {}
    assert set(capture(runner, list(rows))) == set(rows)
    done = server.run("source-file", "-", stdin=COMMAND + "\n")
    assert not done.stderr
    assert server.global_option("@agents_summary") == "blocked:1"
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
@pytest.mark.parametrize("name", HOSTILE)
def test_surfaces_show_text_literally_and_clipped(server: Server, bait: Callable[[str], str], name: str) -> None:
    text = bait(name)
    server.cmd("set-option", "-g", "status-left", "")
    server.cmd("set-option", "-g", "status-right-length", "120")
    server.cmd("set-option", "-g", "status-style", "bg=blue,fg=white")
    server.cmd("set-option", "-g", "status-right", "<#{@agent_status_text}>")
    server.cmd("set-option", "-g", "window-status-format", "")
    server.cmd("set-option", "-g", "window-status-current-format", "")
    made = PaneChange("%0", "", "", {"@agent_state": "blocked", "@agent_status_text": clean(text)}, (), {})
    assert write(runner_of(server), [made]) == {"%0"}
    client = server.attach("main", cols=150)
    wait_for(lambda: ">" in client.output.decode(errors="replace"), what="status drawn")
    client.settle()
    drawn = client.output.decode(errors="replace")
    line = drawn[drawn.rindex("<") :]
    line = line[: line.index(">") + 1]
    assert line == f"<{clean(text).replace('##[', '#[')}>"
    assert "\x1b[41m" not in drawn, "a style of a stranger was obeyed"
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
