"""The closed vocabularies of the contract: states, sources of evidence, tiers of proof."""

from __future__ import annotations

from enum import Enum


class State(str, Enum):
    """Whose move it is. The tokens are frozen: status lines and scripts compare them."""

    WORKING = "working"  # the agent's
    BLOCKED = "blocked"  # yours
    IDLE = "idle"  # nobody's
    UNKNOWN = "unknown"  # an agent is there, nothing says what it does

    def __str__(self) -> str:
        return self.value


class Source(str, Enum):
    """What decided a state; published as `@agent_source`."""

    REPORT = "report"  # a program wrote @agent_state itself
    HOOK = "hook"  # an event the agent fired
    RECORD = "record"  # a file the agent keeps about itself
    SCREEN = "screen"  # chrome on the live screen or in the title
    PROGRESS = "progress"  # OSC 9;4, tmux >= 3.7
    PROCESS = "process"  # process facts alone

    def __str__(self) -> str:
        return self.value


class Tier(str, Enum):
    """How well a manifest's rules are proven."""

    PROVEN = "proven"  # hold on tapes
    CAPTURED = "captured"  # hold on recorded screens
    CONSERVATIVE = "conservative"  # not run by us

    def __str__(self) -> str:
        return self.value


#: The detail of an agent that was stopped (Ctrl-Z): idle, and nothing on the screen is its own.
SUSPENDED = "suspended"

#: Fixed order of summaries: who needs you first.
STATE_ORDER = (State.BLOCKED, State.WORKING, State.IDLE, State.UNKNOWN)
