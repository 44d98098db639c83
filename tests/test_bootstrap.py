"""Making the Python environment: quick stand-ins for python, pip and uv tell each way it can go; one test is real."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.loading import load, settle
from tests.support import ROOT, Server, stays, wait_for

TOOLS = [
    "sh",
    "cat",
    "chmod",
    "cksum",
    "cut",
    "dirname",
    "env",
    "grep",
    "id",
    "less",
    "ls",
    "mkdir",
    "mktemp",
    "mv",
    "ps",
]
TOOLS += ["printf", "readlink", "rm", "rmdir", "sleep", "tail", "touch", "tr"]

#: A Python without our packages. `venv` makes an environment whose python has them (the one that runs the tests).
BASE = r"""#!/bin/sh
echo "$*" >>"@LOG@"
make() { mkdir -p "$1/bin" && { echo '#!/bin/sh'; echo 'case "$*" in "-m pip "*) @PIP@ ;; esac'; \
    echo 'exec @REAL@ "$@"'; } >"$1/bin/python" && chmod +x "$1/bin/python"; }
case "$*" in
*libtmux*) exit 1 ;;
"-m venv --without-pip "*) make "$4"; exit ;;
"-m venv "*) @VENV@ ;;
"-m pip "*) @BASEPIP@ ;;
esac
exec @REAL@ "$@"
"""


class Machine:
    """A home, a PATH of our own making, and what lies in it."""

    def __init__(self, base: Path) -> None:
        self.base, self.bin = base, base / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            for place in ("/usr/bin", "/bin"):
                if Path(place, tool).exists() and not (self.bin / tool).exists():
                    (self.bin / tool).symlink_to(Path(place, tool))
        self.data = base / "data" / "agents.tmux"
        self.log = base / "calls"
        (base / "home").mkdir()
        self.env = {
            "PATH": str(self.bin),
            "HOME": str(base / "home"),
            "XDG_DATA_HOME": str(base / "data"),
            "AGENTS_PLACES": str(self.bin),
            "LC_ALL": "C.UTF-8",
        }

    def script(self, name: str, text: str) -> Path:
        file = self.bin / name
        file.write_text(text)
        file.chmod(0o755)
        return file

    def python(self, name: str = "python3", venv: str = "", pip: str = "exit 0", base_pip: str = "exit 9") -> Path:
        """A base interpreter; `venv`, `pip` (of the environment) and `base_pip` are what these do, in shell."""
        text = BASE.replace("@LOG@", str(self.log)).replace("@REAL@", sys.executable)
        text = text.replace("@VENV@", venv or 'make "$3"; exit').replace("@BASEPIP@", base_pip)
        return self.script(name, text.replace("@PIP@", pip))

    def complete_python(self, name: str = "python3") -> Path:
        return self.script(name, f'#!/bin/sh\nexec {sys.executable} "$@"\n')

    def start(self, *args: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [ROOT / "scripts" / "bootstrap", *args],
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *args: str, **env: str) -> tuple[int, str]:
        process = self.start(*args, **env)
        out, err = process.communicate(timeout=50)
        assert out == ""
        return process.returncode, err

    @property
    def chosen(self) -> str:
        file = self.data / "python"
        return file.read_text().strip() if file.exists() else ""

    def calls(self, word: str) -> list[str]:
        return [line for line in self.log.read_text().splitlines() if word in line] if self.log.exists() else []

    def clean(self) -> bool:
        """Nothing half-made is left."""
        left = {entry.name for entry in self.data.iterdir()} if self.data.exists() else set()
        return left <= {"venv", "python", "bootstrap.log"}


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
        file = Path(server.env["XDG_RUNTIME_DIR"]) / "agents.tmux" / str(server.pid) / "problems"
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


class TestWithoutPython:
    """Focus, jump and colours go on; commands say what is missing."""

    @pytest.fixture
    def bare(self, machine: Machine, server: Server) -> Server:
        """A server loaded where no Python is to be found."""
        (machine.bin / "tmux").symlink_to(server.binary.path)
        server.env["AGENTS_PLACES"] = str(machine.bin)
        server.env["PATH"] = str(machine.bin)
        for name in ("AGENTS_PLACES", "PATH"):
            server.cmd("set-environment", "-g", name, server.env[name])
        load(server)
        settle(server)
        return server

    def agents(self, server: Server, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [ROOT / "scripts" / "agents", *args],
            env=server.inside(),
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )

    def test_what_works_and_what_is_said(self, bare: Server) -> None:
        client = bare.attach("main")
        other = bare.window()
        bare.cmd("set-option", "-p", "-t", other, "@agent_state", "blocked")
        bare.cmd("set-option", "-p", "-t", other, "@agent_attention", "1")
        bare.cmd("agents-rollup")
        assert bare.global_option("@agents_summary") == "blocked:1"
        client.send("\x02j")
        wait_for(lambda: client.where() == other)
        wait_for(lambda: not bare.option(other, "@agent_attention"))
        client.send("\x02J")
        wait_for(lambda: client.where() != other)
        for command in (["ls"], ["report", "working"]):
            done = self.agents(bare, *command)
            assert (done.returncode, done.stdout) == (1, "")
            assert "agents: no Python; error: no Python 3.10 or newer and no uv here" in done.stderr
        assert self.agents(bare, "jump").returncode == 0
        wait_for(lambda: client.where() == other)
        doctor = self.agents(bare, "doctor")
        assert doctor.returncode == 1
        for line in ("python: none", "hooks: 7 installed", "status line: the driver is in it", "python:no Python 3.10"):
            assert line in doctor.stdout

    def test_a_slow_disk_or_network_never_holds_the_load(self, machine: Machine, server: Server) -> None:
        server.env["XDG_DATA_HOME"] = str(machine.base / "data")
        (machine.bin / "tmux").symlink_to(server.binary.path)
        machine.python(pip="sleep 20; exit 0")
        env = server.inside() | machine.env
        ended = threading.Event()

        def run() -> None:
            subprocess.run([ROOT / "agents.tmux"], env=env, check=True, timeout=30)
            ended.set()

        threading.Thread(target=run, daemon=True).start()
        assert ended.wait(10)
        wait_for(lambda: list(machine.data.glob("making.*/env")), what="bootstrap at work")
        stays(lambda: "view-mode" not in server.cmd("list-panes", "-a", "-F", "#{pane_mode}"), 0.3)
        for file in machine.data.glob("bootstrap.lock/pid"):
            os.kill(int(file.read_text()), 15)
