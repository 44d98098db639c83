"""The core stays pure: a walk over its imports finds no clock, no I/O, no tmux, no environment."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

CORE = Path(__file__).resolve().parent.parent / "agents_plugin" / "core"
#: Everything the core may import from outside itself.
PURE = {
    *("__future__", "abc", "collections", "contextlib", "dataclasses", "enum", "functools", "itertools", "math", "re"),
    *("shlex", "typing", "unicodedata", "json", "string", "operator", "bisect", "hashlib"),
}
#: Calls that reach outside without an import.
REACHING = {"open", "print", "input", "exec", "eval", "__import__"}
FILES = sorted(CORE.rglob("*.py"))


def imported(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where they go"
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_imports_are_pure(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for name in imported(tree):
        assert name.split(".")[0] in PURE or name == "agents_plugin.core" or name.startswith("agents_plugin.core."), (
            name
        )
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not calls & REACHING


def test_the_walk_sees_something() -> None:
    assert {"manifest", "screen", "regions", "matchers", "text"} <= {file.stem for file in FILES}
    assert imported(ast.parse("import os\nfrom time import sleep")) == {"os", "time"}
