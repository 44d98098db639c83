"""What is written down agrees with the code, and the tree keeps the rules that a machine can check."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents_plugin import settings
from tests.support import ROOT


def tracked(*suffixes: str) -> list[Path]:
    """Files of the repository that end so; those not yet added count too."""
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, capture_output=True, text=True, check=False)
    names = done.stdout.split("\0") if done.returncode == 0 else [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")]
    files = (ROOT / name for name in names if name)
    return sorted(file for file in files if file.is_file() and (not suffixes or file.suffix in suffixes))


def shell_scripts() -> list[Path]:
    """Our POSIX shell programs."""
    return [file for file in tracked("", ".sh", ".tmux") if file.read_bytes().startswith(b"#!/bin/sh")]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


PYTHON = tracked(".py")
PRODUCT = [file for file in PYTHON if file.is_relative_to(ROOT / "agents_plugin")]


def test_readme_options_are_the_table_of_the_code() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    between = re.search(r"<!-- options: .*? -->\n(.*?)<!-- end of options -->", text, re.DOTALL)
    assert between, "the marks around the table are gone"
    assert between[1].strip() == settings.markdown().strip()


def test_readme_names_what_exists() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!http)([^)#]+)\)", text)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
    commands = set(re.findall(r"\./scripts/(\w+)", text)) | set(re.findall(r"`scripts/(\w+)", text))
    assert {"try", "test"} <= commands
    assert [command for command in sorted(commands) if not (ROOT / "scripts" / command).exists()] == []


def test_contract_page_lists_every_published_option() -> None:
    from agents_plugin.tmux import contract

    text = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
    names = (
        *contract.PANE_OPTIONS,
        contract.WINDOW_SUMMARY,
        contract.WINDOW_ATTENTION,
        contract.SESSION_SUMMARY,
        *contract.GLOBAL_OPTIONS,
    )
    assert [name for name in names if f"`{name}`" not in text] == []


@pytest.mark.parametrize("path", PYTHON, ids=name_of)
def test_file_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 400


def dotted(node: ast.expr) -> str:
    """`os.system` of a call's function, empty for anything computed."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


@pytest.mark.parametrize("path", PYTHON, ids=name_of)
def test_no_shell_is_started_from_python(path: Path) -> None:
    for call in calls(ast.parse(path.read_text(encoding="utf-8"))):
        assert dotted(call.func) not in {"os.system", "os.popen", "subprocess.getoutput", "eval", "exec"}
        for keyword in call.keywords:
            assert keyword.arg != "shell" or not dotted(call.func).startswith(
                ("subprocess.", "asyncio.", "run", "Popen")
            )


@pytest.mark.parametrize("path", [f for f in PRODUCT if f.parent.name != "tmux"], ids=name_of)
def test_only_the_tmux_package_runs_tmux(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    starters = {"subprocess.run", "subprocess.Popen", "subprocess.check_output", "os.posix_spawn"}
    for call in calls(tree):
        if dotted(call.func) in starters and call.args and isinstance(call.args[0], ast.List):
            first = call.args[0].elts[0]
            assert not (isinstance(first, ast.Constant) and str(first.value).endswith("tmux"))


@pytest.mark.parametrize("path", shell_scripts(), ids=name_of)
def test_shell_is_posix(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    done = subprocess.run(["dash", "-n", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for word in (
        r"\[\[ ",
        r"\bflock\b",
        r"date \+%[sN]*N",
        r"readlink -f",
        r"stat -c",
        r"\bfunction ",
        r"<<<",
        r"\becho -[en]",
    ):
        assert not re.search(word, code), word


# A command that names no target acts on whatever tmux thinks is current: the wrong pane, as soon as somebody moves.
_SERVER_WIDE = {"version", "pid", "socket_path", "@agents-enabled", "@agents-monitor"}
_UNTARGETED = re.compile(r"tmux (?:-\S+ (?!-)\S+ )*(?:display-message|set-option|set-window-option)\b([^;|&)]*)")


@pytest.mark.parametrize("path", [f for f in shell_scripts() if f.name not in {"try", "picture"}], ids=name_of)
def test_commands_name_their_target(path: Path) -> None:
    code = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    for line in code:
        for found in _UNTARGETED.finditer(line):
            if "display-message" in found[0] and set(re.findall(r"#\{([^}]*)\}", found[1])) <= _SERVER_WIDE:
                continue
            flags = re.findall(r"(?:^|\s)-(\w+)", found[1])
            assert any(set(flag) & set("tcgs") for flag in flags), line.strip()


def test_nothing_of_a_machine_is_in_the_tree() -> None:
    places = re.compile(r"(?<![\w.])/(?:root|work)/\w")
    hosts = re.compile(r"https?://([\w.-]+)")
    known = {"github.com", "www.w3.org", "127.0.0.1", "localhost"}
    found = []
    for file in tracked():
        if file == Path(__file__) or file.suffix in {".gz", ".png"}:
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        if file.is_relative_to(ROOT / "fixtures"):
            continue  # recorded screens: what agents print, already made neutral
        found += [(name_of(file), match) for match in places.findall(text)]
        if not file.is_relative_to(ROOT / "manifests"):
            found += [(name_of(file), host) for host in hosts.findall(text) if "." in host and host not in known]
    assert found == []


@pytest.mark.parametrize("path", [f for f in PRODUCT if f.parent.name == "core"], ids=name_of)
def test_core_is_pure(path: Path) -> None:
    forbidden = {"os", "time", "subprocess", "pathlib", "socket", "io", "sys", "datetime", "psutil", "libtmux", "yaml"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            assert name.split(".")[0] not in forbidden, name
            if name.startswith("agents_plugin"):
                assert name.startswith("agents_plugin.core") or name == "agents_plugin", name
