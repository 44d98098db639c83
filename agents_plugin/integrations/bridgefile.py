"""Files that are wholly ours: a small program an agent loads from its plugin directory. It knows the wrapper's path."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from agents_plugin.integrations.jsontext import TextError

_SOURCES = Path(__file__).resolve().parent / "bridges"
_HOOK = '"@HOOK@"'
_AGENT = '"@AGENT@"'
_MARK = re.compile(r"// agents\.tmux bridge\b")


@dataclass(frozen=True)
class BridgeFile:
    """The bridge `source` of the plugin, for one agent and the wrapper at `hook`."""

    agent: str
    source: str
    hook: Path

    def has_ours(self, text: str) -> bool:
        """Whether the file is ours, of whatever version."""
        return bool(_MARK.match(text.removeprefix("\ufeff")))

    def install(self, text: str | None, backup: str | None) -> str:
        """The file as it must be. Raises `TextError` when there is one of somebody else."""
        if text is not None and text.strip() and not self.has_ours(text):
            raise TextError("it is not ours, and the bridge needs its name")
        source = (_SOURCES / self.source).read_text(encoding="utf-8")
        return source.replace(_HOOK, json.dumps(str(self.hook))).replace(_AGENT, json.dumps(self.agent))

    def remove(self, text: str, backup: str | None) -> str | None:
        """None: the file goes. One of somebody else stays."""
        return None if self.has_ours(text) else text
