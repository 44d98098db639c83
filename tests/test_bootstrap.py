"""Making the Python environment: quick stand-ins for python, pip and uv tell each way it can go; one test is real."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.loading import run_directory
from tests.machine import Machine
from tests.support import ROOT, Server, wait_for


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_an_environment_is_made_once(machine: Machine) -> None:
    machine.python()
    code, said = machine.run()
    assert (code, said) == (0, "setting up its Python environment (once)\nready\n")
    assert machine.chosen == str(machine.data / "venv/bin/python")
    assert machine.clean()
    assert machine.run() == (0, "")
    assert len(machine.calls("-m venv")) == 1


def test_a_python_that_has_everything_is_used_as_it_is(machine: Machine) -> None:
    python = machine.complete_python()
    assert machine.run() == (0, "")
    assert machine.chosen == str(python)
    assert not (machine.data / "venv").exists()


@pytest.mark.parametrize("name", ["python3.10", "python3.12", "python3.14"])
def test_an_old_python_is_looked_past(name: str, machine: Machine) -> None:
    machine.script("python3", "#!/bin/sh\nexit 1\n")
    python = machine.complete_python(name)
    assert machine.run()[0] == 0
    assert machine.chosen == str(python)


def test_an_old_python_and_nothing_else(machine: Machine) -> None:
    machine.script("python3", "#!/bin/sh\nexit 1\n")
    code, said = machine.run()
    assert code == 1
    assert said.startswith("no Python 3.10 or newer and no uv here; ")
    assert machine.chosen == ""


def test_uv_is_preferred_and_enough(machine: Machine) -> None:
    machine.script(
        "uv",
        f'#!/bin/sh\necho "uv $*" >>{machine.log}\nfor last; do :; done\n'
        'case "$1" in venv) mkdir -p "$last/bin"; '
        f'ln -s {sys.executable} "$last/bin/python.real"; printf \'#!/bin/sh\\nexec {sys.executable} "$@"\\n\' '
        '>"$last/bin/python"; chmod +x "$last/bin/python" ;; esac\n',
    )
    assert machine.run()[0] == 0
    assert machine.chosen == str(machine.data / "venv/bin/python")
    assert "--require-hashes" in machine.calls("uv pip install")[0]


def test_case_187_no_ensurepip_but_a_pip(machine: Machine) -> None:
    machine.python(
        venv="echo 'The virtual environment was not created: ensurepip is not available' >&2; exit 1", base_pip="exit 0"
    )
    assert machine.run()[0] == 0
    install = machine.calls("-m pip install")[0]
    assert "--target" in install and "--require-hashes" in install


def test_case_187_neither_venv_nor_pip(machine: Machine) -> None:
    machine.python(venv="echo 'No module named venv' >&2; exit 1", base_pip="echo 'No module named pip' >&2; exit 1")
    code, said = machine.run()
    assert code == 1
    assert "no working venv and pip (Debian: apt install python3-venv)" in said
    assert machine.clean()


def test_case_188_the_systems_pip_installs_only_into_a_directory_of_ours(machine: Machine) -> None:
    machine.python(pip="echo 'error: externally-managed-environment' >&2; exit 1", base_pip="exit 1")
    code, said = machine.run()
    assert code == 1
    assert "externally managed" in said
    assert all("--target" in call for call in machine.calls("-m pip install"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            "ERROR: Could not find a version that satisfies the requirement libtmux",
            "could not be downloaded (offline?)",
        ),
        ("WARNING: Retrying after connection broken by NewConnectionError", "could not be downloaded (offline?)"),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. HASH",
            "did not have the pinned hash",
        ),
        ("something nobody has seen before", "bootstrap.log"),
    ],
    ids=["offline", "connection", "disk-full", "hash", "unknown"],
)
def test_what_went_wrong_is_said_and_the_next_load_recovers(error: str, said: str, machine: Machine) -> None:
    broken = f"echo '{error}' >&2; exit 1"
    machine.python(pip=broken, base_pip=broken)
    code, message = machine.run()
    assert code == 1
    assert said in message
    assert machine.clean() and machine.chosen == ""
    assert "error: " in (machine.data / "bootstrap.log").read_text()
    machine.python()
    assert machine.run()[0] == 0
    assert machine.chosen


def test_a_data_directory_that_cannot_be_made(machine: Machine) -> None:
    (machine.base / "data").write_text("a file")
    machine.python()
    code, said = machine.run()
    assert code == 1
    assert "cannot write to" in said


def test_what_an_interrupted_one_left_is_made_anew(machine: Machine) -> None:
    machine.python()
    half = machine.data / "venv" / "bin"
    half.mkdir(parents=True)
    (half / "python").symlink_to("/nonexistent")
    (machine.data / "making.77" / "env").mkdir(parents=True)
    (machine.data / "bootstrap.lock").mkdir()
    (machine.data / "bootstrap.lock" / "pid").write_text("999999999\n")
    assert machine.run()[0] == 0
    assert machine.clean()
    assert subprocess.run([machine.chosen, "-c", "import libtmux"], check=False).returncode == 0


def test_killed_in_the_middle_it_leaves_nothing(machine: Machine) -> None:
    machine.python(pip="sleep 3; exit 0")
    process = machine.start()
    wait_for(lambda: list(machine.data.glob("making.*/env")), what="at work")
    process.terminate()
    process.communicate(timeout=20)
    assert machine.clean() and not machine.chosen


def test_two_servers_at_once_make_one(machine: Machine) -> None:
    machine.python(pip="sleep 1; exit 0")
    processes = [machine.start() for _ in range(3)]
    assert [process.wait(timeout=40) for process in processes] == [0, 0, 0]
    assert len(machine.calls("-m venv")) == 1
    for process in processes:
        process.communicate()


@pytest.mark.parametrize("change", ["other-requirements", "python-gone"])
def test_it_is_made_anew_when_it_does_not_fit_any_more(change: str, machine: Machine) -> None:
    machine.python()
    assert machine.run()[0] == 0
    if change == "other-requirements":
        (machine.data / "venv" / "complete").write_text("1 2\n")
    else:
        (machine.data / "venv" / "bin" / "python").unlink()
    assert machine.run()[0] == 0
    assert len(machine.calls("-m venv")) == 2
    assert machine.clean()


def test_requirements_are_pinned_with_hashes_and_are_what_we_test_with() -> None:
    text = (ROOT / "requirements.txt").read_text()
    pinned = dict(re.findall(r"^([a-z]+)==([\d.]+) \\$", text, re.MULTILINE))
    assert set(pinned) == {"libtmux", "psutil", "pyyaml"}
    assert len(re.findall(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$", text, re.MULTILINE)) > 20
    development = (ROOT / "requirements-dev.txt").read_text().lower()
    assert all(f"{name}=={version}\n" in development for name, version in pinned.items())


@pytest.mark.timeout(180)
def test_the_real_thing(machine: Machine) -> None:
    """venv, pip and the hashes as they are; skipped only when the index cannot be reached."""
    base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    (machine.bin / "python3").symlink_to(base)
    pip = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "http", "HTTP"))}
    process = machine.start(**pip, AGENTS_PLACES=str(machine.bin))
    _, said = process.communicate(timeout=170)
    if "could not be downloaded" in said:
        pytest.skip(said.strip())
    assert process.returncode == 0, (machine.data / "bootstrap.log").read_text()[-2000:]
    done = subprocess.run([machine.chosen, "-c", "import libtmux, psutil, yaml"], check=False)
    assert done.returncode == 0


class TestInTmux:
    """With a server around it: messages in the status line, problems for doctor."""

    @pytest.fixture
    def inside(self, machine: Machine, server: Server) -> dict[str, str]:
        env = server.inside()
        machine.env |= {name: env[name] for name in ("TMUX", "XDG_RUNTIME_DIR", "TMUX_TMPDIR")}
        (machine.bin / "tmux").symlink_to(server.binary.path)
        return machine.env

    def problems(self, server: Server) -> str:
        file = run_directory(server) / "problems"
        return file.read_text() if file.exists() else ""

    def test_messages_at_start_and_end(self, machine: Machine, inside: dict[str, str], server: Server) -> None:
        client = server.attach("main")
        machine.python()
        assert machine.run() == (0, "")
        for text in (b"agents.tmux: setting up its Python environment (once)", b"agents.tmux: ready"):
            wait_for(lambda text=text: text in bytes(client.output))  # type: ignore[misc]

    def test_failure_is_one_message_and_a_problem_that_goes(
        self, machine: Machine, inside: dict[str, str], server: Server
    ) -> None:
        client = server.attach("main")
        assert machine.run() == (1, "")
        wait_for(lambda: b"no Python 3.10 or newer and no uv here" in bytes(client.output))
        assert "python\tno Python 3.10" in self.problems(server)
        machine.complete_python()
        assert machine.run() == (0, "")
        assert "python\t" not in self.problems(server)

    def test_agents_python_is_this_servers_own(self, machine: Machine, inside: dict[str, str], server: Server) -> None:
        special = machine.complete_python("special python")
        assert machine.run(str(special)) == (0, "")
        assert machine.chosen == ""
        done = subprocess.run(
            [ROOT / "scripts" / "agents", "help"], env=inside, capture_output=True, text=True, timeout=20, check=False
        )
        assert "usage: agents" in done.stdout

    def test_a_wrong_agents_python_is_said_and_another_used(
        self, machine: Machine, inside: dict[str, str], server: Server
    ) -> None:
        machine.python()
        assert machine.run("/nonexistent/python")[0] == 0
        assert machine.chosen == str(machine.data / "venv/bin/python")
        assert "agents-python\t@agents-python is not a Python" in self.problems(server)
