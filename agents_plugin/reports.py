"""Reports as a pass meets them: what stands in `@agent_state`, what its command left beside it, what still holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from agents_plugin.core.evidence import Claim, Identity
from agents_plugin.core.fold import Windows
from agents_plugin.core.plan import Published
from agents_plugin.core.report import Report, parse_claim, parse_report
from agents_plugin.core.states import Source
from agents_plugin.host import processes


def waiting(published: Published, now_ms: int) -> Report | None:
    """The report that stands in the option and that no pass has taken up; None when there is none.

    `agents report` leaves beside it what the option has no room for: a detail, and the process it lives with.
    """
    report = parse_report(published.raw_state, published.said_ms(now_ms)) if published.foreign else None
    kept = parse_claim(published.claim)
    if report and report.claim and kept and kept.source is Source.REPORT and not published.again:
        same = (kept.state, kept.at_ms) == (report.claim.state, report.claim.at_ms)
        return Report(kept) if same else report
    return report


def live(published: Published, now_ms: int) -> Claim | None:
    """The report that registers a pane, waiting or taken up; None once its program ended or its time is over."""
    report, kept = waiting(published, now_ms), parse_claim(published.claim)
    claim = report.claim if report else kept
    if claim is None or claim.source is not Source.REPORT or not _holds(claim):
        return None
    bounded = claim.pid is None or claim.until_ms is not None
    fresh = now_ms - claim.at_ms < Windows().report_ms
    return claim if (report and claim.pid is None) or fresh or not bounded else None


def reporter_of(published: Published, claim: Claim, pane_pid: int) -> int | None:
    """The process a live report lives with; None while nothing but the pane's processes can tell.

    A report that was taken up and named nobody was typed: whatever is started later in the pane has not made it.
    """
    return claim.pid if claim.pid is not None or published.foreign else pane_pid


def with_report(
    claims: Iterable[Claim], published: Published, owner: Identity | None, now_ms: int
) -> tuple[Claim, ...]:
    """The claims, with the report that waits. One that names no process lives with the pane's `owner`.

    An owner whose start nobody knows is a shell: ten minutes bound what was said there.
    """
    report, others = waiting(published, now_ms), tuple(claims)
    if report is None:
        return others
    if report.clear or report.claim is None:
        return tuple(claim for claim in others if claim.source is not Source.REPORT)
    claim = report.claim
    if claim.pid is None and owner is not None and owner.started is not None:
        claim = replace(claim, pid=owner.pid)
    kept = parse_claim(published.claim)
    return (
        *(other for other in others if other != kept or claim.at_ms != other.at_ms),
        *([claim] if _holds(claim) else []),
    )


def _holds(claim: Claim) -> bool:
    return claim.pid is None or processes.alive(claim.pid, None)
