"""What the rules of a manifest look for, as text to be quoted in transcripts."""

from __future__ import annotations

from collections.abc import Iterator

from agents_plugin.core.matchers import All, Any, Contains, Matcher, Not, Pattern


def phrases(matcher: Matcher) -> Iterator[str]:
    """Every literal text a rule looks for, and a readable form of its expressions."""
    if isinstance(matcher, Contains):
        yield from (written for _, written in matcher.needles)
    elif isinstance(matcher, (All, Any)):
        for part in matcher.matchers:
            yield from phrases(part)
    elif isinstance(matcher, Pattern):
        yield from phrases(matcher.matcher)
    elif not isinstance(matcher, Not):
        yield matcher.label.split(": ", 1)[1]
