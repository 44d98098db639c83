"""Who owns a pane: command lines, wrappers, process trees as recorded, pins, titles, the origin of hook events."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from agents_plugin.core import programs
from agents_plugin.core.evidence import Identity, PaneRow
from agents_plugin.core.identity import identify, pane_of, pane_of_event, recognise, speaks_for
from agents_plugin.core.manifest import Manifest, build
from agents_plugin.core.trees import Proc, Table, subtree

SPECS: dict[str, dict[str, object]] = {
    "claude": {
        "names": ["claude"],
        "scripts": ["@anthropic-ai/claude-code", "claude-code/cli.js"],
        "exe": ["claude/versions"],
        "headless": ["-p", "--print"],
    },
    "codex": {"names": ["codex"], "scripts": ["@openai/codex"], "headless": ["exec"]},
    "opencode": {"names": ["opencode"], "scripts": ["opencode-ai/bin/opencode"], "headless": ["run"]},
    "gemini": {"names": ["gemini"], "scripts": ["@google/gemini-cli"], "headless": ["-p"], "title": None},
    "aider": {"names": ["aider"], "modules": ["aider"], "headless": ["--message"]},
    "copilot": {"names": ["copilot"], "scripts": ["@github/copilot"]},
    "pi": {"names": ["pi"], "headless": ["-p", "--mode json", "--mode rpc"]},
    "hermes": {"names": ["hermes"], "not_argv": ["gateway"]},
    "goose": {"names": ["goose"], "argv": ["session"]},
    "cursor": {"names": ["agent"], "title": "^Cursor"},
    "far": {"names": ["far-away-long-named-agent"], "title": "^FAR "},
}


def manifest(ident: str, spec: dict[str, object], aliases: tuple[str, ...] = ()) -> Manifest:
    spec = {key: value for key, value in spec.items() if value is not None}
    extra = {"aliases": list(aliases)} if aliases else {}
    return build({"schema": 1, "id": ident, "identity": spec, **extra}, ident)


MANIFESTS = [manifest(ident, spec, ("claude-code",) if ident == "claude" else ()) for ident, spec in SPECS.items()]


def pane(command: str = "", title: str = "", pid: int = 10, **options: str) -> PaneRow:
    return PaneRow(
        pane_id="%1",
        pane_pid=pid,
        tty="/dev/pts/1",
        session_id="$1",
        window_id="@1",
        window_index=0,
        pane_index=0,
        active=True,
        dead=False,
        width=80,
        height=24,
        cursor_x=0,
        cursor_y=0,
        cursor_shown=True,
        alternate=False,
        scroll_position=0,
        in_mode=False,
        window_activity=0,
        command=command,
        title=title,
        options={f"@agent_{key}": value for key, value in options.items()},
    )


def proc(
    pid: int, ppid: int, command: str | list[str], comm: str = "", pgrp: int = 0, exe: str = "", started: float = 1000.0
) -> Proc:
    argv = tuple(shlex.split(command)) if isinstance(command, str) else tuple(command)
    name = comm or Path(argv[0]).name[:15] if argv or comm else ""
    return Proc(pid, ppid, pgrp or pid, name, argv, exe, started)


def tree(*procs: Proc) -> Table:
    return {each.pid: each for each in procs}


SHELL = proc(10, 1, "-zsh", "zsh")

IS_AGENT = [
    ("claude", "claude --permission-mode plan", ""),
    ("case-083-npm-script", "node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js", "claude"),
    ("case-083-npx", "npx opencode@latest", "opencode"),
    ("npx-scope", "npx -y @anthropic-ai/claude-code@latest", "claude"),
    ("npx-node", "node /usr/local/bin/npx @google/gemini-cli", "gemini"),
    ("npm-exec", "npm exec @openai/codex -- --full-auto", "codex"),
    ("pnpm-dlx", "pnpm dlx @openai/codex", "codex"),
    ("bunx", "bunx opencode", "opencode"),
    ("bun-script", "bun /srv/npm/node_modules/.bin/opencode", "opencode"),
    ("deno-npm", "deno run -A npm:@google/gemini-cli@0.61.0", "gemini"),
    ("uvx", "uvx --from aider-chat aider --model x", "aider"),
    ("uv-tool-run", "uv tool run aider", "aider"),
    ("mise", "mise exec node@22 -- claude", "claude"),
    ("case-087-full-path", "/opt/x/claude", "claude"),
    ("case-087-quoted", "'/a b/claude'", "claude"),
    ("case-087-env", "env A=1 claude", "claude"),
    ("case-087-sudo", "sudo -u me codex", "codex"),
    ("timeout", "timeout -k 5 3600 codex resume --last", "codex"),
    ("nice", "nice -n 10 claude", "claude"),
    ("sh-c", "sh -c 'cd /srv && exec claude --resume'", "claude"),
    ("sh-c-env", "bash -lc 'A=1 env B=2 codex'", "codex"),
    ("python-m", "python3 -u -m aider --model x", "aider"),
    ("python-Im", "python3.12 -Im aider", "aider"),
    ("python-script", "/srv/venv/bin/python /srv/venv/bin/aider", "aider"),
    ("case-085-runtime-version", "python3.12 /usr/local/bin/hermes", "hermes"),
    ("node-options", "/usr/bin/node --max-old-space-size=12052 -r ./hook.js /srv/node_modules/.bin/gemini", "gemini"),
    ("shebang-shell", "/bin/bash /usr/local/bin/claude --resume", "claude"),
    ("argv-present", "goose session --resume", "goose"),
    ("case-086-triple", "codex-aarch64-apple-darwin", "codex"),
    ("case-086-exe", "opencode.exe", "opencode"),
    ("windows-path", ["C:\\Tools\\claude.exe"], "claude"),
    ("case-090-environment-in-argv", ["pi", "CODEX_HOME=/home/u/.codex", "PATH=/x/claude"], "pi"),
]


@pytest.mark.parametrize(("command", "agent"), [pytest.param(c, a or "claude", id=i) for i, c, a in IS_AGENT])
def test_command_line_of_an_agent(command: str | list[str], agent: str) -> None:
    found = identify(pane("zsh"), tree(SHELL, proc(11, 10, command)), 11, MANIFESTS)
    assert found is not None
    assert (found.agent, found.pid, found.foreground, found.headless) == (agent, 11, True, False)


NO_AGENT = [
    ("case-083-tail", "tail -f /home/u/dev/opencode/log"),
    ("case-083-grep", "grep -r claude-code ."),
    ("case-083-pytest", "pytest tests/aider/test_x.py"),
    ("case-083-pytest-python", "python3 -m pytest tests/aider"),
    ("case-082-editor", "nvim claude.md"),
    ("case-085-server", "node server.js"),
    ("not-argv", "hermes gateway"),
    ("argv-missing", "goose up"),
    ("case-085-server-in-dir", "node /x/claude/server.js"),
    ("case-087-echo", "echo /opt/claude"),
    ("app-server", "codex app-server --listen unix://"),
    ("app-server-after-option", "codex -c a=b app-server"),
    ("mcp", "claude mcp serve"),
    ("node-eval", "node -e claude"),
    ("python-c", "python3 -c 'import aider' aider"),
    ("sh-c-other", "sh -c 'grep claude /var/log/x'"),
    ("sh-c-late", "sh -c 'sleep 100; claude'"),
    ("sh-c-broken-quote", ["sh", "-c", "echo 'claude"]),
    ("tool-shell", "bash -c 'source /x/snap.sh && eval claude'"),
    ("npm-run", "npm run claude"),
    ("git", "git commit -m claude"),
    ("prefix", "claudette"),
    ("suffix", "not-claude"),
    ("case-045-shell", "zsh -i"),
    ("env-only", "env -i A=1"),
    ("timeout-only", "timeout 5"),
]


@pytest.mark.parametrize("command", [pytest.param(c, id=i) for i, c in NO_AGENT])
def test_command_line_that_only_mentions_an_agent(command: str | list[str]) -> None:
    # A title and a directory of an agent's name change nothing.
    assert identify(pane("x", "✳ Claude Code"), tree(SHELL, proc(11, 10, command)), 11, MANIFESTS) is None


@pytest.mark.parametrize(
    ("comm", "argv", "exe", "agent"),
    [
        pytest.param(".claude-wrapped", [], "", "claude", id="case-084-nix"),
        pytest.param(".opencode-wrapp", [], "", "opencode", id="case-084-cut"),
        pytest.param("codex-aarch64-a", [], "", "codex", id="case-086-cut-triple"),
        pytest.param("2.1.224", ["claude"], "", "claude", id="case-086-argv0"),
        pytest.param("2.1.224", [], "/home/u/.local/share/claude/versions/2.1.224", "claude", id="case-086-version"),
        pytest.param("2.1.224", ["/u/claude/versions/2.1.224"], "", "claude", id="case-086-version-argv"),
        pytest.param("MainThread", ["node", "/n/.bin/copilot"], "/usr/bin/node", "copilot", id="main-thread"),
        pytest.param("aider", ["/v/python", "/v/bin/aider"], "/usr/bin/python3.12", "aider", id="shebang-comm"),
        pytest.param("node", ["npm exec @openai/codex"], "/usr/bin/node", "codex", id="process-title"),
        pytest.param("far-away-long-n", [], "", "far", id="cut-at-15"),
        pytest.param("far-away-long-na", [], "", "far", id="cut-at-16"),
        pytest.param("far-away-long", [], "", None, id="short-is-not-cut"),
        pytest.param("rg", ["rg", "claude"], "/usr/bin/rg", None, id="argument"),
        pytest.param("bash", ["bash"], "/opt/claude/bin/bash", None, id="directory"),
    ],
)
def test_names_as_kernels_and_packages_write_them(comm: str, argv: list[str], exe: str, agent: str | None) -> None:
    hit = recognise(Proc(5, 1, 5, comm, tuple(argv), exe), MANIFESTS)
    assert (hit.agent if hit else None) == agent


@pytest.mark.parametrize(
    "command",
    ["claude -p hi", "codex exec 'do it'", "pi --mode json", "pi --mode=rpc", "gemini -p hi", "aider --message=x"],
)
def test_case_080_headless_runs_are_flagged(command: str) -> None:
    found = identify(pane("x"), tree(SHELL, proc(11, 10, command)), 11, MANIFESTS)
    assert found is not None and found.headless


@pytest.mark.parametrize("command", ["claude -- -p", "codex 'exec the plan'", "pi --mode text", "claude 'print -p'"])
def test_words_inside_arguments_are_not_headless(command: str) -> None:
    found = identify(pane("x"), tree(SHELL, proc(11, 10, command)), 11, MANIFESTS)
    assert found is not None and not found.headless


RECORDED = [json.loads(line) for line in (Path(__file__).parent / "data/process_trees.jsonl").read_text().splitlines()]
COVERED = {"claude", "codex", "opencode", "gemini", "aider", "copilot", "pi"}


@pytest.mark.parametrize("row", [pytest.param(row, id=row["from"]) for row in RECORDED])
@pytest.mark.parametrize("group", ["known-group", "no-group"])
def test_recorded_process_trees(row: dict[str, object], group: str) -> None:
    rows = row["tree"]
    assert isinstance(rows, list)
    table = {
        r["pid"]: Proc(r["pid"], r["ppid"], 7, r["comm"], tuple(r["args"].split()), zombie=r["zombie"]) for r in rows
    }
    root = rows[0]["pid"] if rows else 10
    row_pane = pane(str(row["command"]), str(row["title"]), root)
    found = identify(row_pane, table, 7 if group == "known-group" else None, MANIFESTS)
    if row["dead"] or row["agent"] not in COVERED:
        assert found is None or (found.agent not in COVERED and not row["dead"])
    else:
        assert found is not None
        assert (found.agent, found.headless, found.foreground) == (row["agent"], False, True)


def test_codex_launcher_hands_over_to_the_binary() -> None:
    table = tree(
        SHELL,
        proc(11, 10, "node /n/.bin/codex", pgrp=11),
        proc(12, 11, "/n/vendor/bin/codex", pgrp=11),
        proc(13, 12, "/h/bin/codex app-server --listen unix://", pgrp=13),
    )
    found = identify(pane("node"), table, 11, MANIFESTS)
    assert found is not None and (found.agent, found.pid, found.foreground) == ("codex", 12, True)


def test_npx_hands_over_through_its_shell() -> None:
    table = tree(
        SHELL,
        proc(11, 10, ["npm exec @anthropic-ai/claude-code"], "node", pgrp=11),
        proc(12, 11, "sh -c claude", pgrp=11),
        proc(13, 12, "node /c/.bin/claude", pgrp=11),
    )
    found = identify(pane("node"), table, 11, MANIFESTS)
    assert found is not None and (found.agent, found.pid) == ("claude", 13)


def test_case_088_a_tool_call_does_not_relabel_the_pane() -> None:
    table = tree(
        SHELL,
        proc(11, 10, "claude"),
        proc(12, 11, "bash -c 'codex --version'", pgrp=12),
        proc(13, 12, "codex --version", pgrp=12),
    )
    for group in (11, 12, None):
        found = identify(pane("claude", "Gemini"), table, group, MANIFESTS)
        assert found is not None and (found.agent, found.pid) == ("claude", 11)


def test_case_079_a_nested_headless_run_is_not_the_owner() -> None:
    table = tree(
        SHELL, proc(11, 10, "claude"), proc(12, 11, "bash -c x", pgrp=12), proc(20, 12, "claude -p hi", pgrp=12)
    )
    found = identify(pane("claude"), table, 11, MANIFESTS)
    assert found is not None and found.pid == 11 and not found.headless
    hook = proc(21, 20, "sh agent-hook claude Stop", pgrp=12)
    table = {**table, 21: hook}
    assert not speaks_for(21, 11, table, MANIFESTS)
    assert speaks_for(12, 11, table, MANIFESTS)
    assert not speaks_for(10, 11, table, MANIFESTS)


def test_a_launcher_and_its_binary_speak_for_each_other() -> None:
    table = tree(
        SHELL, proc(11, 10, "node /n/.bin/gemini"), proc(12, 11, "node /n/.bin/gemini"), proc(13, 12, "sh hook")
    )
    assert speaks_for(13, 11, table, MANIFESTS)
    assert speaks_for(13, 12, table, MANIFESTS)
    assert speaks_for(11, 12, table, MANIFESTS)


def test_a_suspended_agent_under_another_program() -> None:
    table = tree(SHELL, proc(11, 10, "claude"), proc(12, 10, "less big.log"))
    found = identify(pane("less"), table, 12, MANIFESTS)
    assert found is not None and (found.agent, found.how, found.foreground) == ("claude", "tree", False)
    back = identify(pane("claude"), table, 11, MANIFESTS, known=found)
    assert back is not None and (back.how, back.foreground) == ("foreground", True)
    assert 11 in back.groups and 12 not in back.groups


def test_the_foreground_agent_beats_a_suspended_one() -> None:
    table = tree(SHELL, proc(11, 10, "claude"), proc(12, 10, "codex"))
    found = identify(pane("codex"), table, 12, MANIFESTS)
    assert found is not None and (found.agent, found.how) == ("codex", "foreground")


def test_sudo_with_a_terminal_of_its_own_stays_in_front() -> None:
    table = tree(SHELL, proc(11, 10, "sudo -u me claude", pgrp=11), proc(12, 11, "claude", pgrp=12))
    found = identify(pane("sudo"), table, 11, MANIFESTS)
    assert found is not None and (found.agent, found.pid, found.foreground) == ("claude", 12, True)


def test_case_162_the_shell_as_current_command() -> None:
    for group in (11, None):
        found = identify(pane("zsh"), tree(SHELL, proc(11, 10, "claude")), group, MANIFESTS)
        assert found is not None and (found.agent, found.foreground) == ("claude", True)


@pytest.mark.parametrize("opaque", ["nvim", "tmux attach", "screen -r"])
def test_case_082_what_runs_inside_an_editor_or_multiplexer_is_not_the_panes(opaque: str) -> None:
    table = tree(SHELL, proc(11, 10, opaque), proc(12, 11, "/bin/zsh"), proc(13, 12, "opencode"))
    found = identify(pane(opaque.split()[0]), table, 11, MANIFESTS)
    assert found is None or (found.agent == "" and found.remote == opaque.split()[0])


@pytest.mark.parametrize(
    ("command", "comm", "name"),
    [
        pytest.param("ssh -t box claude", "ssh", "ssh", id="case-165-ssh"),
        pytest.param("docker run -it img claude", "docker", "docker", id="docker"),
        pytest.param("tmux attach", "tmux: client", "tmux", id="case-164-tmux"),
        pytest.param("sudo kubectl exec -it p -- claude", "sudo", "kubectl", id="sudo-kubectl"),
    ],
)
def test_remote_and_nested_sessions(command: str, comm: str, name: str) -> None:
    table = tree(SHELL, proc(11, 10, command, comm))
    found = identify(pane(name, "✳ Claude Code"), table, 11, MANIFESTS)
    assert found is not None and (found.agent, found.remote, found.pid) == ("", name, 11)
    titled = identify(pane(name, "FAR away"), table, 11, MANIFESTS)
    assert titled is not None and (titled.agent, titled.how, titled.remote) == ("far", "title", name)
    pinned = identify(pane(name, hint="claude"), table, 11, MANIFESTS)
    assert pinned is not None and (pinned.agent, pinned.how, pinned.remote) == ("claude", "hint", name)
    reported = identify(pane(name), table, 11, MANIFESTS, registered="mine")
    assert reported is not None and (reported.agent, reported.how, reported.remote) == ("mine", "registered", name)


def test_a_tunnel_in_the_background_is_not_a_remote_session() -> None:
    table = tree(SHELL, proc(11, 10, "ssh -N box"))
    assert identify(pane("zsh"), table, 10, MANIFESTS) is None


def test_an_agent_that_uses_ssh_in_a_tool_stays_local() -> None:
    table = tree(SHELL, proc(11, 10, "claude"), proc(12, 11, "ssh box true", pgrp=11))
    found = identify(pane("claude"), table, 11, MANIFESTS)
    assert found is not None and found.remote is None


@pytest.mark.parametrize("hint", ["codex", "claude-code"])
def test_a_pin_wins_over_the_process(hint: str) -> None:
    found = identify(pane("claude", hint=hint), tree(SHELL, proc(11, 10, "claude")), 11, MANIFESTS)
    assert found is not None and (found.agent, found.how, found.pid) == (hint.removesuffix("-code"), "hint", 11)


def test_a_pin_names_an_unknown_program_but_not_a_bare_shell() -> None:
    found = identify(pane("python", hint="codex"), tree(SHELL, proc(11, 10, "python mine.py")), 11, MANIFESTS)
    assert found is not None and (found.agent, found.pid) == ("codex", 11)
    assert identify(pane("zsh", hint="codex"), tree(SHELL), 10, MANIFESTS) is None
    assert identify(pane("python", hint="#(touch x)"), tree(SHELL, proc(11, 10, "python a.py")), 11, MANIFESTS) is None


def test_a_registration_needs_no_known_program() -> None:
    found = identify(pane("zsh"), tree(SHELL), 10, MANIFESTS, registered="mine")
    assert found is not None and (found.agent, found.how, found.pid) == ("mine", "registered", 10)


def test_ignored_panes_have_no_owner() -> None:
    table = tree(SHELL, proc(11, 10, "claude"))
    assert identify(pane("claude", ignore="", hint="claude"), table, 11, MANIFESTS, registered="x") is None


@pytest.mark.parametrize("case", ["case-081-exit", "case-094-resurrect"])
def test_a_shell_with_left_over_title_and_identity(case: str) -> None:
    known = Identity("claude", "foreground", 11, 1000.0)
    assert identify(pane("zsh", "FAR ✳ Claude Code"), tree(SHELL), 10, MANIFESTS, known=known) is None, case


def test_a_title_narrows_a_generic_name_and_its_flicker_drops_nothing() -> None:
    table = tree(SHELL, proc(11, 10, "agent"))
    assert identify(pane("agent", "host"), table, 11, MANIFESTS) is None
    known = identify(pane("agent", "Cursor: fix"), table, 11, MANIFESTS)
    assert known is not None and known.agent == "cursor"
    held = identify(pane("agent", "host"), table, 11, MANIFESTS, known=known)
    assert held is not None and (held.agent, held.pid, held.foreground) == ("cursor", 11, True)
    behind = identify(pane("less", "host"), {**table, 12: proc(12, 10, "less")}, 12, MANIFESTS, known=known)
    assert behind is not None and not behind.foreground


def test_case_120_a_reused_pid_is_not_the_agent() -> None:
    known = Identity("cursor", "foreground", 11, 1000.0)
    later = tree(SHELL, proc(11, 10, "agent", started=2000.0))
    assert identify(pane("agent", "host"), later, 11, MANIFESTS, known=known) is None


def test_known_process_that_became_a_shell_is_dropped() -> None:
    known = Identity("claude", "foreground", 11, 1000.0)
    assert identify(pane("bash"), tree(SHELL, proc(11, 10, "bash")), 11, MANIFESTS, known=known) is None


def test_title_speaks_only_for_what_cannot_be_read() -> None:
    unreadable = tree(SHELL, Proc(11, 10, 11, "node"))
    found = identify(pane("node", "FAR away"), unreadable, 11, MANIFESTS)
    assert found is not None and (found.agent, found.how, found.pid) == ("far", "title", 11)
    assert identify(pane("node", "FAR away"), tree(SHELL, proc(11, 10, "node server.js")), 11, MANIFESTS) is None


def test_without_any_process_table_the_command_speaks() -> None:
    found = identify(pane("claude"), {}, None, MANIFESTS)
    assert found is not None and (found.agent, found.pid) == ("claude", None)
    assert identify(pane("zsh", "FAR away"), {}, None, MANIFESTS) is None
    assert identify(pane("ssh"), {}, None, MANIFESTS) == Identity("", "foreground", remote="ssh")


def test_zombies_are_nobody() -> None:
    dead = Proc(11, 10, 11, "claude", ("claude",), zombie=True)
    assert identify(pane("zsh"), tree(SHELL, dead), 10, MANIFESTS) is None


def test_a_cycle_in_the_table_ends() -> None:
    table = tree(proc(10, 12, "sh x"), proc(11, 10, "sh y"), proc(12, 11, "sh z"))
    assert identify(pane("sh"), table, 10, MANIFESTS) is None
    assert pane_of(12, table, {99: "%9"}) is None


def test_pane_of_walks_up() -> None:
    table = tree(SHELL, proc(11, 10, "claude"), proc(12, 11, "sh hook"), proc(30, 1, "zsh"))
    panes = {10: "%1", 30: "%2"}
    assert pane_of(12, table, panes) == "%1"
    assert pane_of(30, table, panes) == "%2"
    assert pane_of(99, table, panes) is None
    assert pane_of(1, table, panes) is None


def test_a_shared_server_proves_no_pane() -> None:
    # Codex: hooks of the second pane's session run below the first pane's daemon.
    table = tree(
        SHELL, proc(11, 10, "codex"), proc(12, 11, "codex app-server --listen unix://"), proc(13, 12, "sh hook")
    )
    assert pane_of(13, table, {10: "%1"}) is None
    assert pane_of(11, table, {10: "%1"}) == "%1"


@pytest.mark.parametrize(
    ("ancestors", "expected"),
    [
        pytest.param([(50, None), (11, None)], ("%1", 11), id="parent-gone"),
        pytest.param([(50, None)], None, id="all-gone"),
        pytest.param([(11, 500.0), (10, None)], ("%1", 10), id="parent-pid-reused"),
        pytest.param([(40, None)], None, id="began-after-the-event"),
        pytest.param([(30, None), (11, None)], ("%2", 30), id="nearest-wins"),
        pytest.param([(60, None), (11, None)], None, id="alive-elsewhere-is-not-overruled"),
        pytest.param([], None, id="nothing-recorded"),
    ],
)
def test_pane_of_event(ancestors: list[tuple[int, float | None]], expected: tuple[str, int] | None) -> None:
    table = tree(
        SHELL,
        proc(11, 10, "claude"),
        proc(30, 1, "zsh"),
        proc(40, 10, "sh", started=5000.0),
        proc(60, 1, "daemon"),
    )
    assert pane_of_event(ancestors, 2_000_000, table, {10: "%1", 30: "%2"}) == expected


def test_subtree_keeps_parents_first() -> None:
    table = tree(SHELL, proc(12, 11, "b"), proc(11, 10, "a"), proc(20, 1, "other"))
    assert [p.pid for p in subtree(10, table)] == [10, 11, 12]
    assert subtree(99, table) == []


@pytest.mark.parametrize("text", ["", "/", "''", "-", ".", "@", "a b", "\x00", "é" * 300, "-" * 15, "." + "-" * 14])
def test_odd_names_do_no_harm(text: str) -> None:
    assert isinstance(programs.normalise(text), str)
    assert isinstance(programs.program(text, (text, text), text), programs.Program)
    assert recognise(Proc(2, 1, 2, text, (text,), text), MANIFESTS) is None
