"""The parser of commands' arguments: what it says of a wrong one is one line, whatever the argument contains."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import NoReturn

from agents_plugin.streams import note


class Parser(ArgumentParser):
    """`argparse`, complaining as our commands do."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and end with 2."""
        self.print_usage(sys.stderr)
        note(f"{self.prog}: error: {message}")
        raise SystemExit(2)
