"""`python …/agents_plugin/__main__.py COMMAND …`: one module of `commands/` per command, only the asked one is loaded.

Started as a file, never with `-m` from anywhere: that would put the current directory, and whatever lies in it, first.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

_COMMANDS = Path(__file__).resolve().parent / "commands"
if not __package__:
    sys.path[0] = str(_COMMANDS.parent.parent)


def names() -> list[str]:
    """The commands there are, by their file names."""
    return sorted(file.stem for file in _COMMANDS.glob("*.py") if not file.stem.startswith("_"))


def command(name: str) -> ModuleType:
    """The module of a command: `NAME`, `HELP`, `configure(parser)`, `run(args) -> int`."""
    return import_module(f"agents_plugin.commands.{name.replace('-', '_')}")


def usage() -> str:
    """What there is to ask for, one line each."""
    lines = ["usage: agents COMMAND [options]", ""]
    for name in names():
        module = command(name)
        lines.append(f"  {module.NAME:12} {module.HELP}")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Runs one command. Exit codes: 0 fine, 1 it failed, 2 it was asked wrongly."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage() + "\n")
        return 0 if arguments else 2
    name, *rest = arguments
    if name in ("--version", "version"):
        from agents_plugin import __version__

        sys.stdout.write(f"agents.tmux {__version__}\n")
        return 0
    if name.replace("-", "_") not in names():
        from agents_plugin.streams import complain

        complain("", f"there is no command {name}; `agents help` lists them")
        return 2
    from agents_plugin.arguments import Parser

    module = command(name)
    parser = Parser(prog=f"agents {module.NAME}", description=module.HELP)
    module.configure(parser)
    try:
        return int(module.run(parser.parse_args(rest)))
    except BrokenPipeError:
        # The reader (head, a pager) has seen enough; the flush at exit must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        from agents_plugin.host.faults import described
        from agents_plugin.streams import complain

        complain(module.NAME, f"an error nobody thought of: {described(error)}")
        return 1


if __name__ == "__main__":
    from agents_plugin.streams import install

    install()
    raise SystemExit(main(sys.argv[1:]))
