"""Reads one screen with one manifest: which rule holds for each state, and why the others do not."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from agents_plugin.core.asking import read_asked
from agents_plugin.core.evidence import Match, Reading, Screen
from agents_plugin.core.guard import Guard, RunawayError
from agents_plugin.core.manifest import Manifest, Rule
from agents_plugin.core.regions import Block, Regions, regions_of
from agents_plugin.core.states import State


@dataclass(frozen=True)
class Outcome:
    """One rule on one screen: `failed` names the first matcher that did not hold, empty when the rule matches."""

    rule: str
    state: State | None
    detail: str | None
    skip: bool
    failed: str

    @property
    def matched(self) -> bool:
        """Whether the rule holds."""
        return not self.failed


def read(manifest: Manifest, screen: Screen, guard: Guard | None = None) -> Reading:
    """What the rules say. An empty reading when a skip rule holds, nothing holds, or the guard stopped a rule."""
    if guard and guard.barred(manifest):
        return Reading()
    running = ""
    try:
        with guard.limit() if guard else nullcontext():
            regions = regions_of(screen)
            for rule in manifest.skips:
                running = rule.id
                if not _failure(rule, regions)[0]:
                    return Reading(skip=rule.id)
            found: dict[State, Match] = {}
            for rule in manifest.rules:
                running = rule.id
                if rule.state is None or rule.state in found:
                    continue
                failed, box = _failure(rule, regions)
                if not failed:
                    found[rule.state] = Match(rule.id, rule.state, rule.detail, _text(rule, regions, box), rule.weak)
    except RunawayError:
        if guard:
            guard.stopped(manifest, f"{manifest.origin or manifest.id}: rule {running}")
        return Reading()
    return Reading(found.get(State.BLOCKED), found.get(State.WORKING), found.get(State.IDLE))


def trace(manifest: Manifest, screen: Screen, guard: Guard | None = None) -> list[Outcome]:
    """Every rule, skip rules first, with what failed. Rules after one the guard stopped are not tried."""
    outcomes: list[Outcome] = []
    running = ""
    try:
        with guard.limit() if guard else nullcontext():
            regions = regions_of(screen)
            for rule in (*manifest.skips, *manifest.rules):
                running = rule.id
                failed, _ = _failure(rule, regions)
                outcomes.append(Outcome(rule.id, rule.state, rule.detail, rule.skip, failed))
    except RunawayError:
        if guard:
            guard.stopped(manifest, f"{manifest.origin or manifest.id}: rule {running}")
        outcomes.append(Outcome(running, None, None, False, "stopped: the rule took too long"))
    return outcomes


def judged(manifest: Manifest, screen: Screen, rule: str) -> tuple[str, ...]:
    """The rows a rule looked at: its box if it holds in one, else its region. Empty for a rule there is not."""
    regions = regions_of(screen)
    for candidate in (*manifest.skips, *manifest.rules):
        if candidate.id == rule:
            box = _failure(candidate, regions)[1] if candidate.region.kind == "box" else None
            return (box or regions.block(candidate.region)).lines
    return ()


def _failure(rule: Rule, regions: Regions) -> tuple[str, Block | None]:
    """What failed (empty: nothing), and the box all box matchers hold in."""
    screen = regions.screen
    if rule.cursor is not None and screen.cursor_shown is not None and screen.cursor_shown != rule.cursor:
        return f"cursor: {'shown' if rule.cursor else 'hidden'}", None
    if rule.alternate is not None and screen.alternate is not None and screen.alternate != rule.alternate:
        return f"alternate: {str(rule.alternate).lower()}", None
    boxed = []
    for matcher in rule.matchers:
        if matcher.boxed:
            boxed.append(matcher)
            continue
        failed = matcher.fails(regions, None, True)
        if failed:
            return failed, None
    if not boxed:
        return "", None
    best, reason = -1, "box: there is none on the screen"
    for box in regions.boxes:
        for held, matcher in enumerate(boxed):
            failed = matcher.fails(regions, box, True)
            if failed:
                if held > best:
                    best, reason = held, failed
                break
        else:
            return "", box
    return reason, None


def _text(rule: Rule, regions: Regions, box: Block | None) -> str:
    """What is asked, on one line, from the rule's own region."""
    if not rule.text:
        return ""
    block = box if box is not None and rule.region.kind == "box" else regions.block(rule.region)
    return read_asked(rule.text, block, regions.cols)
