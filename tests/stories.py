"""A pane in virtual time whose agent also speaks: events by the bundled manifests, screens as readings."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from agents_plugin.core.evidence import Reading, Verdict
from agents_plugin.core.fold import Sight
from agents_plugin.core.hookfold import HookLog, HookMemory
from agents_plugin.core.hooks import Hooks, interpret
from agents_plugin.core.states import Source
from agents_plugin.manifests import Catalog
from tests.lane import ALL, BLOCKED, IDLE, WORKING, Lane, showing

DIALOG = showing(BLOCKED, "permission", "permission")
SPINNER = showing(WORKING, None, "spinner")
COMPOSER = showing(IDLE, None, "composer")
INTERRUPTED = showing(IDLE, "interrupted", "interrupted")
CATALOG = Catalog()
#: What every event of an agent carries.
ALWAYS: dict[str, dict[str, Any]] = {
    "claude": {"session_id": "s1", "prompt_id": "p1"},
    "codex": {"session_id": "s1", "turn_id": "t1"},
    "gemini": {"session_id": "s1"},
    "qwen": {"session_id": "s1", "prompt_id": "p1"},
    "opencode": {"sessionID": "root"},
    "kilo": {"sessionID": "root"},
    "copilot": {"sessionId": "s1"},
    "pi": {},
}


class Story:
    """One pane. `say` fires an event (1 ms passes), `look` passes once; payload fields that are None are left out."""

    def __init__(self, agent: str = "claude", sight: Sight | None = None) -> None:
        found = CATALOG.get(agent)
        assert found and found.hooks, CATALOG.problems
        self.agent, self.hooks = agent, found.hooks
        self.lane = Lane(sight=sight or Sight(ALL, ALL))
        self.lane.precedence = self.hooks.precedence
        self.log = HookLog()

    def say(self, event: str, ago: int = 0, **payload: Any) -> Story:
        """An event, `ago` ms late."""
        self.lane.now += 1
        self.lane.mono += 1
        whole = {**ALWAYS[self.agent], **payload}
        data = {key: value for key, value in whole.items() if value is not None}
        self.tell(event, data, self.lane.now - ago)
        return self

    def tell(self, event: str, data: object, at_ms: int) -> None:
        """An event with exactly this payload."""
        signal = interpret(self.hooks, event, data, at_ms, key(event, data))
        if signal:
            self.log = self.log.hearing([signal])

    def look(self, ms: int = 1_000, reading: Reading | None = None) -> str:
        """Let time pass and look; `state/detail`, empty for nothing."""
        claim = self.memory.claim
        others = tuple(one for one in self.lane.claims if one.source is not Source.HOOK)
        self.lane.claims = (*others, claim) if claim else others
        self.lane.step(ms, reading)
        return self.lane.shown

    @property
    def memory(self) -> HookMemory:
        """What the events add up to."""
        return self.log.folded()

    @property
    def verdict(self) -> Verdict:
        """The verdict that stands."""
        assert self.lane.verdict
        return self.lane.verdict

    @property
    def claimed(self) -> str:
        """What the events alone say: `state/detail`."""
        claim = self.memory.claim
        return "/".join(filter(None, (claim.state.value, claim.detail))) if claim else ""


def key(event: str, data: object) -> str:
    """What makes it the same event again."""
    return hashlib.sha1(f"{event}{json.dumps(data, sort_keys=True)}".encode(), usedforsecurity=False).hexdigest()[:12]


def hooks_of(agent: str) -> Hooks:
    """An agent's hooks as bundled."""
    return Story(agent).hooks


def asking(agent: str = "claude") -> Story:
    """A turn that has come to a permission dialog."""
    story = Story(agent).say("UserPromptSubmit", prompt="go")
    story.say("PreToolUse", tool_name="Bash", tool_input={"command": "make"})
    story.say("PermissionRequest", tool_name="Bash", tool_input={"command": "make"})
    assert story.look(100, DIALOG) == "blocked/permission"
    return story


def resting(agent: str = "claude") -> Story:
    """A turn that is over."""
    story = Story(agent).say("UserPromptSubmit", prompt="go")
    story.look(1_000, SPINNER)
    story.say("Stop", background_tasks=[])
    assert story.look(100, COMPOSER) == "idle"
    return story
