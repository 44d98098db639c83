"""A home and a PATH of our own making, with stand-ins for Python, pip and uv."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support import ROOT

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
