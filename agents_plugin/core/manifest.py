"""What we know of one agent: how to recognise its process and which chrome on its screen means what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any as Value

from agents_plugin.core import matchers as m
from agents_plugin.core.asking import Asking, build_asked
from agents_plugin.core.hookrules import build_hooks
from agents_plugin.core.hooks import Hooks
from agents_plugin.core.regions import BOX, CURSOR_LINE, SCREEN, Region
from agents_plugin.core.schema import (
    ManifestError,
    Path,
    as_bool,
    as_list,
    as_mapping,
    check_size,
    choice,
    one_or_many,
    optional,
    regex,
    seconds,
    text_of,
    texts,
)
from agents_plugin.core.states import State, Tier

SCHEMA = 1
MAX_MATCHERS = 2000  # YAML aliases can make a small file unfold without end
_ID = re.compile(r"[a-z0-9][a-z0-9-]*")
_TOKEN = re.compile(r"[a-z0-9][a-z0-9_]*")
_MATCHER_KEYS = frozenset({"contains", "line", "flow", "rows", "pattern", "any", "all", "not", "at_cursor"})
_RULE_KEYS = frozenset({"id", "state", "detail", "skip", "absent", "cursor", "alternate", "text", "weak"})
_MODIFIERS = frozenset({"region", "ignore_case"})
_TOP_KEYS = frozenset(
    {
        *("schema", "id", "name", "tier", "aliases", "identity", "visible", "proven", "dwell", "record", "resume"),
        *("patterns", "rules", "hooks"),
    }
)
_IDENTITY_KEYS = frozenset({"names", "scripts", "modules", "exe", "title", "headless", "argv", "not_argv"})
_WHOLE_REGIONS = {"screen": SCREEN, "title": Region("title"), "box": BOX, "cursor-line": CURSOR_LINE}
_COUNTED_REGIONS = frozenset({"last", "nonempty", "below_rule"})


@dataclass(frozen=True)
class Signature:
    """How an agent's process looks: see the schema in docs/manifests.md."""

    names: tuple[str, ...] = ()
    scripts: tuple[tuple[str, ...], ...] = ()  # path components, in order
    modules: tuple[str, ...] = ()
    exe: tuple[tuple[str, ...], ...] = ()
    title: re.Pattern[str] | None = None
    headless: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()  # a generic name counts only with one of these words
    not_argv: tuple[str, ...] = ()  # with one of these words it is another program (a server, a daemon)


@dataclass(frozen=True)
class Rule:
    """One rule. `skip` rules say "the user opened this view"; the others say a state, and why."""

    id: str
    state: State | None
    detail: str | None
    skip: bool
    region: Region
    matchers: tuple[m.Matcher, ...]
    cursor: bool | None = None
    alternate: bool | None = None
    text: tuple[Asking, ...] = ()  # what is asked: the first that finds something
    weak: bool = False  # the same screen is also seen in another state

    @property
    def boxed(self) -> bool:
        """Whether its matchers must share one box."""
        return any(matcher.boxed for matcher in self.matchers)


@dataclass(frozen=True, eq=False)
class Manifest:
    """One agent. `visible`: states its rules can see; `proven`: those drawn on every frame, at every width."""

    id: str
    name: str
    tier: Tier
    identity: Signature
    visible: frozenset[State]
    proven: frozenset[State]
    rules: tuple[Rule, ...]
    skips: tuple[Rule, ...]
    patterns: Mapping[str, m.Pattern]
    aliases: tuple[str, ...] = ()
    dwell_ms: int | None = None
    record: str | None = None
    resume: str | None = None
    hooks: Hooks | None = None
    origin: str = ""


def build(mapping: object, origin: str = "") -> Manifest:
    """A manifest from plain data. Raises `ManifestError` naming the key; `origin` (a file) is only for messages."""
    try:
        return _Builder().manifest(mapping, origin)
    except ManifestError as error:
        raise ManifestError(error.message, error.path, origin) from None


def outline(mapping: Mapping[str, Value], origin: str = "") -> Manifest:
    """What tells an agent's processes and names, without its rules, from data that `build` has accepted before."""
    return Manifest(
        id=text_of(mapping, "id", ()),
        name=text_of(mapping, "name", (), text_of(mapping, "id", ())),
        tier=choice(mapping, "tier", (), Tier, Tier.CONSERVATIVE),
        identity=_signature(mapping.get("identity", {})),
        visible=frozenset(),
        proven=frozenset(),
        rules=(),
        skips=(),
        patterns={},
        aliases=texts(mapping, "aliases", ()),
        origin=origin,
    )


class _Builder:
    """Checks and builds; keeps the named patterns while rules are read."""

    def __init__(self) -> None:
        self.patterns: dict[str, m.Pattern] = {}
        self.matchers = 0

    def manifest(self, mapping: object, origin: str) -> Manifest:
        """The whole manifest."""
        check_size(mapping)
        top = as_mapping(mapping, (), _TOP_KEYS)
        if top.get("schema") != SCHEMA:
            raise ManifestError(f"must be {SCHEMA}", ("schema",))
        ident = text_of(top, "id", ())
        if not _ID.fullmatch(ident):
            raise ManifestError("must be lower case letters, digits and dashes", ("id",))
        for name, value in as_mapping(top.get("patterns", {}), ("patterns",)).items():
            path: Path = ("patterns", name)
            self.patterns[name] = m.Pattern(name, self.matcher(value, path, SCREEN, False))
        rules = [self.rule(value, ("rules", index)) for index, value in enumerate(as_list(top, "rules", ()))]
        seen: set[str] = set()
        for index, rule in enumerate(rules):
            if rule.id in seen:
                raise ManifestError(f"another rule is named {rule.id}", ("rules", index, "id"))
            seen.add(rule.id)
        stated = {rule.state for rule in rules if rule.state}
        visible = _states(top, "visible", stated)
        proven = _states(top, "proven", set())
        if not proven <= visible:
            raise ManifestError("names a state that is not visible", ("proven",))
        return Manifest(
            id=ident,
            name=text_of(top, "name", (), ident),
            tier=choice(top, "tier", (), Tier, Tier.CONSERVATIVE),
            identity=_signature(top.get("identity", {})),
            visible=visible,
            proven=proven,
            rules=tuple(rule for rule in rules if not rule.skip),
            skips=tuple(rule for rule in rules if rule.skip),
            patterns=self.patterns,
            aliases=texts(top, "aliases", ()),
            dwell_ms=seconds(top, "dwell", ()),
            record=optional(top, "record", ()),
            resume=optional(top, "resume", ()),
            hooks=build_hooks(top["hooks"], origin or ident) if "hooks" in top else None,
            origin=origin,
        )

    def rule(self, value: object, path: Path) -> Rule:
        """A rule from its mapping."""
        data = as_mapping(value, path, _RULE_KEYS | _MATCHER_KEYS | _MODIFIERS)
        ident = text_of(data, "id", path)
        skip = as_bool(data, "skip", path) or False
        if skip == ("state" in data):
            raise ManifestError("a rule has either a state or skip: true", (*path, "state" if skip else "id"))
        state = None if skip else choice(data, "state", path, State, None)
        if state is State.UNKNOWN:
            raise ManifestError("must be working, blocked or idle", (*path, "state"))
        detail = optional(data, "detail", path)
        if detail is not None and not _TOKEN.fullmatch(detail):
            raise ManifestError("must be lower case letters, digits and underscores", (*path, "detail"))
        region = _region(data["region"], (*path, "region")) if "region" in data else SCREEN
        ignore_case = as_bool(data, "ignore_case", path) or False
        found = self.inline(data, path, region, ignore_case)
        if "absent" in data:
            names = [self.named(name, (*path, "absent")) for name in one_or_many(data["absent"], (*path, "absent"))]
            found.append(m.Not(tuple(names), "absent"))
        if not found and "cursor" not in data and "alternate" not in data:
            raise ManifestError("a rule needs at least one matcher", path)
        cursor = optional(data, "cursor", path)
        if cursor not in (None, "hidden", "shown"):
            raise ManifestError("must be hidden or shown", (*path, "cursor"))
        text = build_asked(data["text"], (*path, "text"), ignore_case) if "text" in data else ()
        alternate = as_bool(data, "alternate", path)
        shown = None if cursor is None else cursor == "shown"
        weak = as_bool(data, "weak", path) or False
        return Rule(ident, state, detail, skip, region, tuple(found), shown, alternate, text, weak)

    def matcher(self, value: object, path: Path, region: Region, ignore_case: bool) -> m.Matcher:
        """A matcher from its mapping; region and case come from around it unless it says otherwise."""
        self.matchers += 1
        if self.matchers > MAX_MATCHERS:
            raise ManifestError(f"more than {MAX_MATCHERS} matchers", path)
        data = as_mapping(value, path, _MATCHER_KEYS | _MODIFIERS)
        if len(_MATCHER_KEYS & data.keys()) != 1:
            raise ManifestError("needs exactly one of " + ", ".join(sorted(_MATCHER_KEYS)), path)
        if "region" in data:
            region = _region(data["region"], (*path, "region"))
        return self.inline(data, path, region, as_bool(data, "ignore_case", path) or ignore_case)[0]

    def inline(self, data: Mapping[str, Value], path: Path, region: Region, ignore_case: bool) -> list[m.Matcher]:
        """The matchers a mapping carries, in the order they are written."""
        found: list[m.Matcher] = []
        for key, value in data.items():
            here: Path = (*path, key)
            if key == "contains":
                needles = one_or_many(value, here)
                if not all(needle.split() for needle in needles):
                    raise ManifestError("an empty text is everywhere", here)
                found.append(m.Contains.of(region, needles, ignore_case))
            elif key == "line":
                found.append(m.Line.of(region, regex(value, here, ignore_case)))
            elif key == "flow":
                found.append(m.Text.flow(region, regex(value, here, ignore_case)))
            elif key == "rows":
                found.append(m.Text.rows(region, regex(value, here, ignore_case, re.MULTILINE)))
            elif key == "at_cursor":
                found.append(m.at_cursor(regex(value, here, ignore_case)))
            elif key == "pattern":
                found.append(self.named(value, here))
            elif key in ("any", "all", "not"):
                parts = tuple(self.parts(value, here, region, ignore_case))
                found.append(m.Any(parts) if key == "any" else m.All(parts) if key == "all" else m.Not(parts))
        return found

    def parts(self, value: object, path: Path, region: Region, ignore_case: bool) -> Iterable[m.Matcher]:
        """The matchers of an any, all or not list."""
        if not isinstance(value, list) or not value:
            raise ManifestError("must be a list of matchers", path)
        for index, part in enumerate(value):
            yield self.matcher(part, (*path, index), region, ignore_case)

    def named(self, name: object, path: Path) -> m.Pattern:
        """The named pattern."""
        pattern = self.patterns.get(name) if isinstance(name, str) else None
        if pattern is None:
            raise ManifestError(f"there is no pattern named {name} above this key", path)
        return pattern


def _states(data: Mapping[str, Value], key: str, default: set[State]) -> frozenset[State]:
    if key not in data:
        return frozenset(default)
    return frozenset(choice({key: item}, key, (), State, None) for item in as_list(data, key, ()))


def _region(value: object, path: Path) -> Region:
    if isinstance(value, str) and value in _WHOLE_REGIONS:
        return _WHOLE_REGIONS[value]
    if isinstance(value, dict) and len(value) == 1:
        kind, n = next(iter(value.items()))
        if kind in _COUNTED_REGIONS and isinstance(n, int) and not isinstance(n, bool) and 0 < n <= 1000:
            return Region(kind, n)
    known = ", ".join([*_WHOLE_REGIONS, *(f"{{{kind}: n}}" for kind in sorted(_COUNTED_REGIONS))])
    raise ManifestError(f"must be one of {known}", path)


def _signature(value: object) -> Signature:
    data = as_mapping(value, ("identity",), _IDENTITY_KEYS)
    path: Path = ("identity",)
    components = {
        key: tuple(tuple(part for part in text.split("/") if part) for text in texts(data, key, path))
        for key in ("scripts", "exe")
    }
    title = regex(data["title"], (*path, "title"), False) if "title" in data else None
    plain = {key: texts(data, key, path) for key in ("names", "modules", "headless", "argv", "not_argv")}
    return Signature(
        names=plain["names"],
        modules=plain["modules"],
        headless=plain["headless"],
        argv=plain["argv"],
        not_argv=plain["not_argv"],
        scripts=components["scripts"],
        exe=components["exe"],
        title=title,
    )
