"""Fixtures: every test gets its own tmux server, home and temporary directory; tmux is never mocked."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import leftovers
from tests.stage import Stage
from tests.support import Client, Server, TmuxBinary, available_tmux, wait_for

__all__ = ["Client", "Server", "wait_for"]

_RUN = pytest.StashKey[str]()
_BINARIES = available_tmux()

# A change is judged by the same examples every time, on any machine; HYPOTHESIS_PROFILE=search finds new ones.
settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", settings.get_profile("same"), derandomize=False, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--every-tmux`: every test that uses tmux runs on every version, not only those marked `versions`."""
    parser.addoption("--every-tmux", action="store_true", help="run all tmux tests on all tmux versions found")


def pytest_configure(config: pytest.Config) -> None:
    """Name our marks, so that `--strict-markers` knows them; mark what this run starts."""
    workers = getattr(config, "workerinput", None)
    config.stash[_RUN] = workers["agents_run"] if workers else uuid.uuid4().hex
    # The workers of xdist set it themselves: started with it they would look like something left behind.
    if workers or not getattr(config.option, "numprocesses", None):
        os.environ[leftovers.VARIABLE] = config.stash[_RUN]
    config.addinivalue_line("markers", "versions: run on every tmux version that can be had, not only the system's")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist which run it is part of."""
    node.workerinput["agents_run"] = node.config.stash[_RUN]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that leaves a tmux or a process of ours behind, name it, and end it."""
    if hasattr(session.config, "workerinput"):
        return
    found = leftovers.left(session.config.stash[_RUN])
    for pid, command in found.items():
        print(f"\nleft behind: {pid} {command}")
    leftovers.end(found)
    if found:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_report_header() -> str:
    """Say what is tested against."""
    return "tmux: " + (", ".join(f"{b.version} ({b.path})" for b in _BINARIES) or "none")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run on the system's tmux; on all versions when the test is marked `versions`."""
    if "tmux_bin" not in metafunc.fixturenames:
        return
    every = metafunc.config.getoption("--every-tmux") or metafunc.definition.get_closest_marker("versions")
    chosen = _BINARIES if every else _BINARIES[:1]
    metafunc.parametrize("tmux_bin", chosen, ids=[f"tmux{b.version}" for b in chosen], indirect=True, scope="session")


@pytest.fixture(scope="session")
def tmux_bin(request: pytest.FixtureRequest) -> TmuxBinary:
    """The tmux this test runs on."""
    binary: TmuxBinary = request.param
    return binary


@pytest.fixture
def bare_server(tmux_bin: TmuxBinary, tmp_path: Path) -> Iterator[Server]:
    """A private server that is not started yet: change `env` or `config`, then call `start()`."""
    server = Server(tmux_bin, tmp_path)
    yield server
    server.kill()


@pytest.fixture
def server(bare_server: Server) -> Server:
    """A running private server with one 80x24 session `main`, whose pane runs `cat`."""
    bare_server.start()
    return bare_server


@pytest.fixture
def attach() -> Callable[..., Client]:
    """`attach(server, cols=80, rows=24, session="main")`: a real client on a pseudo-terminal."""

    def make(server: Server, cols: int = 80, rows: int = 24, session: str = "main") -> Client:
        return server.attach(session, cols, rows)

    return make


@pytest.fixture
def stage(server: Server) -> Stage:
    """A running server with the rollup installed, and passes over it."""
    return Stage(server)
