"""Which program a command line is: agents, and what only mentions one."""

from __future__ import annotations

import pytest

from agents_plugin.core import programs
from agents_plugin.core.identity import identify, recognise
from agents_plugin.core.trees import Proc
from tests.trees import MANIFESTS, SHELL, pane, proc, tree

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


@pytest.mark.parametrize("text", ["", "/", "''", "-", ".", "@", "a b", "\x00", "é" * 300, "-" * 15, "." + "-" * 14])
def test_odd_names_do_no_harm(text: str) -> None:
    assert isinstance(programs.normalise(text), str)
    assert isinstance(programs.program(text, (text, text), text), programs.Program)
    assert recognise(Proc(2, 1, 2, text, (text,), text), MANIFESTS) is None
