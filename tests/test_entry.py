"""agents.tmux: what loading changes, that it changes nothing twice, and that all of it goes away again."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.loading import copy_plugin, give_python, key, load, monitor_pid, prefix_keys, run_directory, settle
from tests.support import ROOT, Client, Server, alive, stays, wait_for

HOOKS: tuple[str, ...] = ("after-select-pane", "session-window-changed", "window-pane-changed", "window-layout-changed")
HOOKS += ("client-session-changed", "client-detached", "client-focus-in", "after-set-option")
SEGMENT = "#{@agents_status}#(#{AGENTS_DRIVE})"
DRIVER = "#(#{AGENTS_DRIVE})"


@pytest.fixture
def ready(server: Server) -> Server:
    give_python(server)
    return server


def run(env: dict[str, str], *argv: str | Path) -> None:
    """Run a command below a shell that ends with it, as a job of tmux does."""
    subprocess.run(["/bin/sh", "-c", '"$@"; exit $?', "job", *argv], env=env, check=True, timeout=30)


def picture(server: Server) -> dict[str, str]:
    """Everything loading could touch, as tmux prints it."""
    return {
        "options": server.cmd("show-options", "-g"),
        "window options": server.cmd("show-options", "-gw"),
        "server options": server.cmd("show-options", "-s"),
        "keys": server.cmd("list-keys"),
        "hooks": server.cmd("show-hooks", "-g") + server.cmd("show-hooks", "-gw"),
        "environment": server.cmd("show-environment", "-g"),
    }


def changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Lines that are new or different."""
    return [
        line
        for name, text in after.items()
        for line in text.splitlines()
        if line not in before[name].splitlines() and not line.startswith("@agents_")
    ]


@pytest.mark.versions
def test_case_148_only_documented_lines_change(ready: Server) -> None:
    ready.cmd("set-option", "-g", "status-right", "mine #{agents_status} é\\;")
    before = picture(ready)
    load(ready)
    settle(ready)
    wait_for(lambda: key(ready, "A"))
    lines = changed(before, picture(ready))
    allowed = [
        r"status-right .*",
        r"command-alias\[47\d\d\] \"agents(-\w+)?=.*",
        rf"({'|'.join(HOOKS)})\[4710\] .*|after-set-option\[4711\] .*",
        r"bind-key +-T prefix +[jJA] +run-shell -C agents-(jump|back|list)",
    ]
    assert lines
    assert not [line for line in lines if not any(re.fullmatch(rule, line) for rule in allowed)]
    assert ready.global_option("status-right") == f"mine {SEGMENT} é;"


@pytest.mark.versions
def test_case_144_loading_three_times_is_loading_once(ready: Server) -> None:
    ready.cmd("set-hook", "-g", "after-select-pane[0]", "set -g @theirs 0")
    ready.cmd("set-hook", "-g", "after-select-pane[1]", "set -g @theirs 1")
    load(ready)
    settle(ready)
    wait_for(lambda: key(ready, "A"))
    once = picture(ready)
    load(ready)
    load(ready)
    wait_for(lambda: not (run_directory(ready) / "load-again").exists())
    stays(lambda: picture(ready) == once, 2.5)
    assert once["hooks"].count("after-select-pane[4710]") == 1
    assert "after-select-pane[0] set-option -g @theirs 0" in once["hooks"]
    assert "after-select-pane[1] set-option -g @theirs 1" in once["hooks"]


@pytest.mark.versions
def test_uninstall_leaves_what_was_there(ready: Server) -> None:
    ready.cmd("set-option", "-g", "status-left", "#{agents_status}#[fg=red]é ")
    before = picture(ready)
    load(ready)
    settle(ready)
    helper = wait_for(lambda: monitor_pid(ready))
    pane = ready.format("main:", "#{pane_id}")
    ready.cmd("set-option", "-p", "-t", pane, "@agent_state", "blocked")
    ready.cmd("set-option", "-w", "-t", pane, "@agent_summary", "blocked:1")
    stamps = ready.inside()
    done = subprocess.run([ROOT / "scripts" / "uninstall"], env=stamps, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert picture(ready) == before
    assert not [name for name in ready.hidden() if name.startswith("AGENTS_")]
    assert ready.option(pane, "@agent_state") == ready.window_option(pane, "@agent_summary") == ""
    assert not alive(helper)
    stays(lambda: picture(ready) == before, 1)


PLACES: dict[str, tuple[str, str, str, str]] = {
    "none": ("L", "R", "L", f"R{DRIVER}"),
    "right": ("L", "a #{agents_status} b", "L", f"a {SEGMENT} b"),
    "left": ("#{agents_status}", "R", SEGMENT, "R"),
    "both": ("#{agents_status}", "#{agents_status}", SEGMENT, "#{@agents_status}"),
    "twice": ("", "#{agents_status}|#{agents_status}", "", f"{SEGMENT}|#{{@agents_status}}"),
    "by-hand": ("", "#{@agents_status}", "", "#{@agents_status}" + DRIVER),
    "case-146-continuum-marker": ("", "#(/p/continuum_save.sh)x", "", f"#(/p/continuum_save.sh)x{DRIVER}"),
    "styles-and-jobs": ("#[fg=red]#(a b)", "'\"\\#{agents_status}%H\\;", "#[fg=red]#(a b)", f"'\"\\{SEGMENT}%H\\;"),
    "wide-text-and-tab": ("é\t▲", "⠋ #{agents_status}\t✳;", "é\t▲", f"⠋ {SEGMENT}\t✳;"),
}


@pytest.mark.versions
@pytest.mark.parametrize("name", PLACES)
def test_where_the_segment_goes(name: str, ready: Server) -> None:
    left, right, new_left, new_right = PLACES[name]
    for option, value in (("status-left", left), ("status-right", right)):
        ready.cmd("set-option", "-g", option, value[:-1] + "\\;" if value.endswith(";") else value)
    for _ in range(2):
        load(ready)
        assert (ready.global_option("status-left"), ready.global_option("status-right")) == (new_left, new_right)


def test_a_session_with_a_status_line_of_its_own_does_not_spread_it(ready: Server) -> None:
    ready.cmd("set-option", "-t", "main", "status-right", "session #{agents_status}")
    ready.cmd("set-option", "-g", "status-right", "global")
    load(ready)
    assert ready.global_option("status-right") == f"global{DRIVER}"
    assert ready.session_option("main", "status-right") == "session #{agents_status}"


def test_case_146_a_marker_added_later_and_a_theme_loaded_later(ready: Server) -> None:
    ready.cmd("set-option", "-g", "status-right", "#{agents_status}")
    load(ready)
    ready.cmd("set-option", "-g", "status-right", "theme #{agents_status} #(/p/continuum_save.sh)")
    wait_for(lambda: ready.global_option("status-right") == f"theme {SEGMENT} #(/p/continuum_save.sh)", timeout=20)


class TestKeys:
    """Our keys are taken only when nobody else has them."""

    def test_free_keys_are_ours(self, ready: Server) -> None:
        load(ready)
        settle(ready)
        wait_for(lambda: key(ready, "A"))
        assert [key(ready, name) for name in ("j", "J", "A")] == [
            f"run-shell -C agents-{name}" for name in ("jump", "back", "list")
        ]

    @pytest.mark.parametrize("order", ["bound-before", "bound-by-a-later-plugin", "bound-much-later"])
    def test_a_taken_key_is_left_alone(self, order: str, ready: Server) -> None:
        client = ready.attach("main")
        bind = ("bind-key", "j", "select-pane", "-D")
        if order == "bound-before":
            ready.cmd(*bind)
        load(ready)
        if order == "bound-by-a-later-plugin":
            ready.cmd(*bind)
        if order == "bound-much-later":
            wait_for(lambda: key(ready, "j") == "run-shell -C agents-jump")
            ready.cmd(*bind)
        wait_for(lambda: key(ready, "M-j") == "run-shell -C agents-jump", timeout=20)
        assert key(ready, "j") == "select-pane -D"
        text = "prefix j is taken (use prefix M-j, or set @agents-jump-key)"
        wait_for(lambda: text.encode() in bytes(client.output))
        assert text in (run_directory(ready) / "problems").read_text()

    def test_it_is_said_once(self, ready: Server) -> None:
        ready.attach("main")
        ready.cmd("bind-key", "j", "select-pane", "-D")
        load(ready)

        def said() -> int:
            return len(re.findall(r" message: .*prefix j is taken", ready.cmd("show-messages")))

        wait_for(said)
        load(ready)
        stays(lambda: said() == 1, 3)

    def test_without_a_client_it_is_said_when_one_comes(self, ready: Server) -> None:
        ready.cmd("set-option", "-g", "status-interval", "1")
        ready.cmd("bind-key", "j", "select-pane", "-D")
        load(ready)
        wait_for((run_directory(ready) / "messages").exists)
        client = ready.attach("main")
        wait_for(lambda: b"prefix j is taken" in bytes(client.output))

    def test_a_named_key_is_bound_though_taken(self, ready: Server) -> None:
        ready.cmd("bind-key", "x", "kill-pane")
        ready.cmd("set-option", "-g", "@agents-jump-key", "x")
        load(ready)
        wait_for(lambda: key(ready, "x") == "run-shell -C agents-jump")
        assert key(ready, "j") == ""

    def test_another_key_or_none_takes_the_old_one_back(self, ready: Server) -> None:
        load(ready)
        settle(ready)
        wait_for(lambda: key(ready, "A"))
        ready.cmd("set-option", "-g", "@agents-jump-key", "C-g")
        ready.cmd("set-option", "-g", "@agents-back-key", "none")
        load(ready)
        wait_for(lambda: key(ready, "C-g") == "run-shell -C agents-jump", timeout=20)
        wait_for(lambda: key(ready, "j") == key(ready, "J") == "")
        assert key(ready, "A") == "run-shell -C agents-list"

    @pytest.mark.parametrize("name", [";", "#", "~", "'", '"', "$", "\\", "C-Space", "F5"])
    def test_odd_keys(self, name: str, ready: Server) -> None:
        ready.cmd("set-option", "-g", "@agents-jump-key", "\\;" if name == ";" else name)
        load(ready)
        wait_for(lambda: re.search(r"run-shell -C agents-jump", prefix_keys(ready)))
        bound = next(line for line in prefix_keys(ready).splitlines() if "agents-jump" in line)
        assert bound.split()[3] in (name, f"\\{name}", f'"{name}"', f"'{name}'")
        assert key(ready, "j") == ""

    def test_a_taken_fallback_is_left_alone_too(self, ready: Server) -> None:
        for name in ("j", "M-j", "A"):
            ready.cmd("bind-key", name, "display-message", "theirs")
        load(ready)
        wait_for(lambda: key(ready, "J") == "run-shell -C agents-back")
        wait_for(lambda: (run_directory(ready) / "problems").exists())
        assert "agents-jump" not in prefix_keys(ready)
        problems = (run_directory(ready) / "problems").read_text()
        assert "prefix j is taken (set @agents-jump-key), prefix A is taken (set @agents-list-key)" in problems


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("my home/.tmux/plugins/x y", id="case-184-spaces"),
        pytest.param('it\'s "q" $HOME `id` #{x} #(y) %d', id="quotes-and-formats"),
        pytest.param("é ⠋ ([{;&|<>}])!~*?\\", id="everything-else"),
    ],
)
@pytest.mark.versions
def test_a_plugin_path_may_hold_anything(
    name: str, server: Server, attach: Callable[..., Client], tmp_path: Path
) -> None:
    plugin = copy_plugin(tmp_path / name)
    server.cmd("set-option", "-g", "status-interval", "1")
    give_python(server)
    load_env = server.inside()
    run(load_env, plugin / "agents.tmux")
    settle(server)
    first = wait_for(lambda: monitor_pid(server))
    wait_for(lambda: not (run_directory(server) / "starting").exists(), what="the start is over")
    # The driver in the status line brings a killed helper back, and a hook's poke runs.
    os.kill(first, 9)
    client = attach(server)
    wait_for(lambda: monitor_pid(server) not in (0, first), timeout=20, what="driver started a monitor")
    pane = server.format("main:", "#{pane_id}")
    other = server.window()
    server.cmd("set-option", "-p", "-t", other, "@agent_attention", "1")
    client.send("\x02n")
    wait_for(lambda: not server.option(other, "@agent_attention"))
    assert client.where() == other
    stays(lambda: "view-mode" not in server.cmd("list-panes", "-a", "-F", "#{pane_mode}"), 0.5)
    assert server.option(pane, "@agent_attention") == ""


def test_an_update_in_another_directory_replaces_the_path(ready: Server, tmp_path: Path) -> None:
    for name in ("one", "two"):
        run(ready.inside(), copy_plugin(tmp_path / name) / "agents.tmux")
    shown = "\n".join(picture(ready).values()) + "\n".join(ready.hidden().values())
    assert str(tmp_path / "one") not in shown
    assert ready.global_option("status-right").count(DRIVER) == 1


@pytest.mark.versions
def test_case_186_a_fresh_server_whose_configuration_loads_us(bare_server: Server, tmp_path: Path) -> None:
    give_python(bare_server)
    config = tmp_path / "tmux.conf"
    config.write_text(f"set -g status-right 'x #{{agents_status}}'\nrun-shell {ROOT}/agents.tmux\n")
    bare_server.config = str(config)
    bare_server.start()
    assert bare_server.global_option("status-right") == f"x {SEGMENT}"
    settle(bare_server)
    wait_for(lambda: monitor_pid(bare_server), what="monitor with no client and no status line drawn")
    assert "view-mode" not in bare_server.cmd("list-panes", "-a", "-F", "#{pane_mode}")


def test_case_157_a_path_without_tmux(ready: Server) -> None:
    """The server's own executable is what is left; tmux builds that are not on PATH load all the same."""
    env = ready.inside() | {"PATH": "/nonexistent"}
    tools = ready.base / "tools"
    tools.mkdir()
    for tool in ("cat", "id", "ls", "mkdir", "rm", "sleep", "grep", "mv", "chmod", "tr", "cksum", "dirname", "ps"):
        for place in ("/usr/bin", "/bin"):
            if Path(place, tool).exists() and not (tools / tool).exists():
                (tools / tool).symlink_to(Path(place, tool))
    run(env | {"PATH": str(tools)}, "/bin/sh", ROOT / "agents.tmux")
    assert DRIVER in ready.global_option("status-right")
    settle(ready)


def test_case_190_lost_executable_bits_are_given_back(server: Server, tmp_path: Path) -> None:
    give_python(server)
    plugin = copy_plugin(tmp_path / "plugin")
    files = [plugin / "agents.tmux", *(plugin / "scripts").iterdir()]
    for file in files:
        if file.is_file():
            file.chmod(0o644)
    run(server.inside(), "/bin/sh", plugin / "agents.tmux")
    settle(server)
    for name in ("agents.tmux", "scripts/agent-hook", "scripts/agents", "scripts/drive", "scripts/poke"):
        wait_for(lambda name=name: os.access(plugin / name, os.X_OK), what=name)  # type: ignore[misc]
    wait_for(lambda: monitor_pid(server))


@pytest.mark.parametrize(
    ("version", "too_old"),
    [
        *((version, True) for version in ("2.9", "3.1c", "next-3.1")),
        *((version, False) for version in ("3.2", "3.10", "next-3.8", "openbsd-7.1", "4.0", "3.7b", "master")),
    ],
)
def test_case_155_versions(version: str, too_old: bool, ready: Server, tmp_path: Path) -> None:
    """A tmux that says it is another version: too old is one message and no half of an installation."""
    fake = tmp_path / "bin" / "tmux"
    fake.parent.mkdir()
    # 3.2 brought -N: before, it is a wrong use.
    usage = 'case "$*" in *" -N "*) exit 1 ;; *" -V") echo "tmux $version"; exit ;; esac\n' if too_old else ""
    fake.write_text(
        f"#!/bin/sh\nversion={version}\n{usage}"
        f'case "$*" in *" agents.tmux version "*) {ready.binary.path} "$@" | sed "s/^agents.tmux version .*/'
        f'agents.tmux version $version/" ;; *) exec {ready.binary.path} "$@" ;; esac\n'
    )
    fake.chmod(0o755)
    client = ready.attach("main")
    before = picture(ready)
    env = ready.inside()
    run(env | {"PATH": f"{fake.parent}:{env['PATH']}"}, ROOT / "agents.tmux")
    if too_old:
        wait_for(lambda: b"this tmux is too old" in bytes(client.output))
    assert (picture(ready) == before) == too_old


def test_case_132_a_runtime_directory_that_is_not_ours(ready: Server, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (Path(ready.env["XDG_RUNTIME_DIR"]) / "agents.tmux").symlink_to(elsewhere)
    load(ready)
    settle(ready)
    assert not list(elsewhere.iterdir())
    assert DRIVER in ready.global_option("status-right")


def test_it_prints_nothing_and_starts_two_tmux_processes(ready: Server, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    spy = tmp_path / "bin" / "tmux"
    spy.parent.mkdir()
    spy.write_text(f'#!/bin/sh\necho "$PPID" >>{calls}\nexec {ready.binary.path} "$@"\n')
    spy.chmod(0o755)
    env = ready.inside()
    env["PATH"] = f"{spy.parent}:{env['PATH']}"
    done = subprocess.run([ROOT / "agents.tmux", "again"], env=env, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(calls.read_text().splitlines()) == 2


def test_outside_of_tmux_it_does_nothing(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run([ROOT / "agents.tmux"], env=env, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


def test_agents_at_the_prompt_opens_a_popup(ready: Server, attach: Callable[..., Client]) -> None:
    load(ready)
    settle(ready)
    client = attach(ready)
    client.send("\x02:")
    client.settle()
    client.send("agents help\r")
    wait_for(lambda: b"COMMAND" in bytes(client.output), what="usage in the popup")
    client.settle()
    client.output.clear()
    client.send("q")
    wait_for(lambda: client.received and b"COMMAND" not in bytes(client.output))
