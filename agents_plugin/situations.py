"""The case of one pane as the fold judges it: all evidence of this pass, and the windows that are set."""

from __future__ import annotations

from agents_plugin.core.evidence import Verdict
from agents_plugin.core.fold import Sight, Situation, Windows
from agents_plugin.core.states import State
from agents_plugin.settings import Settings
from agents_plugin.subject import Subject

#: OSC 9;4 as tmux >= 3.7 names it (`pane_pb_state`).
_PROGRESS = {"normal": State.WORKING, "indeterminate": State.WORKING, "paused": None, "error": None, "hidden": None}


def situation(subject: Subject, previous: Verdict | None, settings: Settings, now: int, mono: int) -> Situation:
    """Everything known of a pane now. `previous` is the verdict that is published; times are ms on both clocks."""
    manifest, identity = subject.manifest, subject.identity
    sight = Sight(manifest.visible, manifest.proven, manifest.dwell_ms) if manifest else Sight()
    windows = Windows(
        settings.dwell_ms,
        settings.settle_ms,
        settings.hook_decay_ms,
        settings.blocked_decay_ms,
    )
    return Situation(
        identity,
        previous,
        subject.claims,
        subject.look,
        now,
        mono,
        subject.mind.memory,
        subject.facts,
        sight,
        windows,
        progress=_PROGRESS.get(subject.row.progress),
        precedence=manifest.hooks.precedence if manifest and manifest.hooks else (),
        background=settings.background,
    )
