"""Files of others: whatever lies there is read without waiting, within bounds, or not at all."""

from __future__ import annotations

import ast
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents_plugin.doctor.machine import tail
from agents_plugin.host import files, threads
from agents_plugin.host.files import load_regular, open_regular, read_regular
from agents_plugin.host.runtime import Runtime
from agents_plugin.host.spool import read as read_event
from agents_plugin.integrations.files import FileError
from agents_plugin.integrations.files import read as read_config
from agents_plugin.manifest_cache import ManifestCache
from agents_plugin.manifests import ManifestFileError
from agents_plugin.manifests import load as load_manifest
from agents_plugin.saved import facts_beside
from tests.support import ROOT

SESSION = "01a22e10-50ac-7901-944a-bd161a85cc22"
DEEP = 200_000


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """A reader that waits is ended."""

    def late(*_: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _huge(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(1 << 40)


def _linked(path: Path) -> None:
    os.mkfifo(f"{path}.fifo")
    path.symlink_to(f"{path}.fifo")


def _deep(path: Path) -> None:
    path.write_text(f'{{"id": "{SESSION}", "x": {"[" * DEEP}{"]" * DEEP}}}\n')


PLANTS: dict[str, Callable[[Path], object]] = {
    "fifo": os.mkfifo,
    "directory": os.mkdir,
    "link-to-a-fifo": _linked,
    "link-to-itself": lambda path: path.symlink_to(path),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "huge": _huge,
    "deep": _deep,
    "nothing": lambda path: None,
}


def _name(path: Path) -> object:
    return threads.name_of(SESSION, {"CODEX_HOME": str(path.parent)})


def _config(path: Path) -> object:
    try:
        return read_config(path).data if path.name == "x" else None
    except FileError:
        return None


def _manifest(path: Path) -> object:
    try:
        return load_manifest(path)
    except ManifestFileError:
        return None


READERS: dict[str, tuple[str, Callable[[Path], object], tuple[object, ...]]] = {
    "codex-index": ("session_index.jsonl", _name, (None,)),
    "runtime": ("problems", lambda path: Runtime(path.parent, 1).problems(), ({},)),
    "memory": ("memory.json", lambda path: Runtime(path.parent, 1).read_memory(1), ({},)),
    "log": ("log", lambda path: Runtime(path.parent, 1).log("x"), (None,)),
    "spool": ("1.0", read_event, (None,)),
    "config": ("config.toml", _config, (None,)),
    "manifest": ("x.yaml", _manifest, (None,)),
    "manifest-cache": ("manifests.json", lambda path: ManifestCache(path).get("x", (0, 0, 0)), (None,)),
    "screen-facts": ("x.json", lambda path: facts_beside(path.with_suffix(".txt")), ({},)),
    "doctor": ("log", lambda path: tail(path)[:0], ("",)),
}


@pytest.mark.parametrize("plant", [pytest.param(plant, id=name) for name, plant in PLANTS.items()])
@pytest.mark.parametrize("reader", [pytest.param(reader, id=name) for name, reader in READERS.items()])
def test_whatever_lies_there_no_reader_waits_or_ends(
    reader: tuple[str, Callable[[Path], object], tuple[object, ...]],
    plant: Callable[[Path], object],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    name, read, nothing = reader
    plant(tmp_path / name)
    found = read(tmp_path / name)
    if "screen-facts" in request.node.name and plant is _deep:
        return  # where JSON may be that deep it is a mapping
    assert found in nothing


def test_a_deep_line_hides_no_other(tmp_path: Path) -> None:
    index = tmp_path / "session_index.jsonl"
    good = json.dumps({"id": SESSION, "thread_name": "fix it"})
    deep = f'{{"id": "{SESSION}", "x": {"[" * 50_000}{"]" * 50_000}}}'
    index.write_text(f"{good}\n{deep}\n")
    assert _name(index) == "fix it"


def test_the_first_or_last_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"0123456789")
    assert read_regular(path, 4) == b"0123"
    assert read_regular(path, 4, tail=True) == b"6789"
    assert read_regular(path, 100, tail=True) == load_regular(path, 100) == b"0123456789"


def test_links_are_followed_unless_they_must_not(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"1")
    (tmp_path / "link").symlink_to("x")
    assert read_regular(tmp_path / "link", 9) == b"1"
    assert read_regular(tmp_path / "link", 9, follow=False) is None


@pytest.mark.parametrize("name", ["a\0b", "a" * 300, "none", "x/y"])
def test_what_cannot_be_opened_is_an_error_of_the_system(name: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"1")
    with pytest.raises(OSError):
        open_regular(f"{tmp_path}/{name}")
    assert read_regular(f"{tmp_path}/{name}", 9) is None


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "x").write_bytes(b"1")
    before = len(list(Path("/dev/fd").iterdir()))
    for name in ("fifo", "x", ".", "none"):
        read_regular(tmp_path / name, 9)
    assert len(list(Path("/dev/fd").iterdir())) == before


#: Who opens by itself, and what: our own files, what a person named, what is no file.
OPENERS = {
    "host/files.py": "this is the reader",
    "host/processes.py": "/proc",
    "host/directories.py": "/proc",
    "host/runtime.py": "writes its own files, the FIFO, /proc/uptime",
    "host/alerts.py": "a terminal, to write",
    "integrations/files.py": "writes",
    "integrations/bridgefile.py": "a file of the plugin",
    "repair.py": "a file of the plugin",
    "__main__.py": "/dev/null",
    "fixture.py": "writes",
    "tape.py": "a file somebody named",
    "commands/screen.py": "a file somebody named",
}


def test_files_are_opened_in_one_place() -> None:
    found = set()
    for file in sorted((ROOT / "agents_plugin").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in ("open", "read_text", "read_bytes", "fdopen"):
                found.add(str(file.relative_to(ROOT / "agents_plugin")))
    assert found == set(OPENERS)
    assert Path(files.__file__).name == "files.py"
