"""Doctor's look at the machine: Python and its packages, our files, the runtime directory, manifests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module, metadata
from pathlib import Path

from agents_plugin import __version__
from agents_plugin.doctor.finding import Finding, ok, problem, warn
from agents_plugin.host.directories import places, why_not
from agents_plugin.host.files import read_regular

HOME = Path(__file__).resolve().parent.parent.parent
EXECUTABLES = ("agents.tmux", *(f"scripts/{n}" for n in ("agents", "agent-hook", "bootstrap", "drive", "poke")))
#: What we import, and the name under which it is installed.
PACKAGES = {"libtmux": "libtmux", "psutil": "psutil", "yaml": "PyYAML"}
_LOG_BYTES = 64 * 1024


def plugin() -> Iterator[Finding]:
    """Our version, and the files others run."""
    yield ok("plugin", f"agents.tmux {__version__} in {HOME}")
    missing = [name for name in EXECUTABLES if not (HOME / name).is_file()]
    plain = [name for name in EXECUTABLES if name not in missing and not os.access(HOME / name, os.X_OK)]
    if missing:
        yield problem("plugin", f"files are missing: {', '.join(missing)}; install it again")
    if plain:
        yield problem("plugin", f"not executable: {', '.join(plain)}; chmod +x them (a sync tool may lose the bit)")


def python(environ: Mapping[str, str]) -> Iterator[Finding]:
    """The interpreter at work, its packages, and how the last setup of the environment ended."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield ok("python", f"{version} at {sys.executable}")
    absent = []
    for module, package in PACKAGES.items():
        try:
            import_module(module)
        except Exception as error:
            absent.append(f"{package} ({type(error).__name__})")
        else:
            yield ok("python", f"{package} {_version(package)}")
    if absent:
        yield problem("python", f"cannot be imported: {', '.join(absent)}; run {HOME / 'scripts' / 'bootstrap'}")
    data = data_dir(environ)
    errors = [line for line in tail(data / "bootstrap.log").splitlines() if line.startswith("error: ")]
    if errors:
        yield warn("python", f"the last setup of the environment failed: {errors[-1].removeprefix('error: ')}")
    if (data / "bootstrap.lock").is_dir():
        yield warn("python", "its environment is being made right now")


def directories(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the directories we write to are ours alone."""
    refused = []
    for place in places(environ):
        if why := why_not(place):
            refused.append(why)
            continue
        yield from (warn("runtime", f"{why}: {place.base} is used instead") for why in refused)
        if place.base.exists():
            yield ok("runtime", f"{place.base}")
        else:
            yield warn("runtime", f"{place.base} is not there: nothing of ours has run since the machine started")
        return
    yield problem("runtime", f"{'; '.join(refused)}: no monitor will run")


def manifests(place: str, environ: Mapping[str, str]) -> Iterator[Finding]:
    """The rules in force, and files that cannot be used. `place` is `@agents-manifests`."""
    from agents_plugin.manifest_cache import open_cache
    from agents_plugin.manifests import BUNDLED, Catalog, user_directory

    user = Path(place).expanduser() if place else user_directory(dict(environ))
    if place and not user.is_dir():
        yield warn("manifests", f"@agents-manifests is {place}, which is no directory")
    catalog = Catalog((BUNDLED, user), open_cache(environ))
    own = [manifest.id for manifest in catalog if not Path(manifest.origin).is_relative_to(BUNDLED)]
    more = f", of your own: {', '.join(own)}" if own else ""
    if len(catalog):
        yield ok("manifests", f"{len(catalog)} agents known{more}")
    else:
        yield problem("manifests", f"there is none in {BUNDLED}")
    for text in catalog.problems:
        yield warn("manifests", f"skipped: {text}")


def reading_processes() -> Iterator[Finding]:
    """Whether processes can be read; without it agents are known by the command tmux names."""
    from agents_plugin.host import processes

    try:
        table = processes.sweep()
        readable = os.getpid() in table
    except Exception as error:
        yield warn("processes", f"cannot be read ({type(error).__name__}): agents are known by their command name only")
        return
    if not readable:
        yield warn("processes", "cannot be read: agents are known by their command name only")
        return
    yield ok("processes", f"{len(table)} can be read")


def data_dir(environ: Mapping[str, str]) -> Path:
    """Where the Python environment and its log are; the same as in `scripts/lib.sh`."""
    base = environ.get("XDG_DATA_HOME", "")
    place = base if base.startswith("/") else f"{environ.get('HOME') or '/nonexistent'}/.local/share"
    return Path(place) / "agents.tmux"


def tail(path: Path) -> str:
    """The end of a small text file of ours; empty when it is anything else."""
    return (read_regular(path, _LOG_BYTES, tail=True) or b"").decode("utf-8", "replace")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "of unknown version"
