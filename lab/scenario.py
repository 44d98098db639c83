"""Scenario files: how an agent is installed and started, and what is done with it. `scenarios/<agent>.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import yaml

from agents_plugin.core.states import State

SCENARIOS = Path(__file__).resolve().parent / "scenarios"
TRUTHS = frozenset((*map(str, State), "dead"))
_KEYS = frozenset(("ask", "type", "key", "wait", "gone", "over", "within", "pause", "is", "save"))


class ScenarioError(ValueError):
    """A scenario file that cannot be used: `str()` names file and place."""


@dataclass(frozen=True)
class Step:
    """One step, its parts in this order: ask or type, key, wait or gone or over, is, pause, save.

    ask      type `please lab:WORD`, Enter; the agent works from then on
    type     type a text; `key` presses tmux's names of keys, one after the other
    wait     until a regular expression is on the screen, `gone` until it is not, `over` until the model's last answer
             of the turn was out; `within` seconds (20). In vain: the steps up to the next `ask` are left out
    pause    seconds to let the screen settle, so that a look is at this state
    is       the truth from then on: once what was waited for is there, without a wait once the keys are pressed
    save     save the screen under this name
    """

    place: str
    ask: str = ""
    type: str = ""
    key: tuple[str, ...] = ()
    wait: str = ""
    gone: str = ""
    over: bool = False
    within: float = 20.0
    pause: float = 0.5
    truth: str = ""
    save: str = ""


@dataclass(frozen=True)
class Install:
    """A package of npm or PyPI, or nothing. `node`: the oldest major version it runs on; `after`: commands run in its
    folder once; `scripts`: it needs the packages' own install scripts."""

    npm: str = ""
    pypi: str = ""
    version: str = ""
    bin: str = ""
    node: int = 0
    scripts: bool = False
    after: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Scenario:
    """One run of an agent: launch command, environment, files in its home (`~/…`) or working directory, steps."""

    name: str
    launch: str
    steps: tuple[Step, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Agent:
    """A scenario file."""

    id: str
    install: Install
    scenarios: tuple[Scenario, ...]
    words: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]]
    quote: str
    toolless: bool
    proxy: bool  # the proxy answers what the agent asks of the world; otherwise it refuses


def names() -> list[str]:
    """The agents there are scenarios for."""
    return sorted(path.stem for path in SCENARIOS.glob("*.yaml"))


def load(path: Path) -> Agent:
    """Read a scenario file. Raises `OSError` or `ScenarioError`."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        return _agent(data, path)
    except yaml.YAMLError as error:
        raise ScenarioError(f"{path}: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise ScenarioError(f"{path}: {type(error).__name__}: {error}") from None


def placed(text: str, places: Mapping[str, object]) -> str:
    """The text with `$PORT`, `$HOME`, `$WORK`, `$CA`, `$VERSION`, `$HOOK` filled in; other dollar signs stay."""
    return Template(text).safe_substitute({key: str(value) for key, value in places.items()})


def _agent(data: Mapping[str, Any], path: Path) -> Agent:
    install = dict(data.get("install") or {})
    install["after"] = tuple(tuple(map(str, command)) for command in install.get("after") or ())
    scenarios = []
    for name, part in data["scenarios"].items():
        steps = tuple(_step(step, f"{path.name}: {name}: step {i}") for i, step in enumerate(part["steps"], 1))
        env = {**(data.get("env") or {}), **(part.get("env") or {})}
        files = {**(data.get("files") or {}), **(part.get("files") or {})}
        scenarios.append(Scenario(name, str(part.get("launch") or data["launch"]), steps, _texts(env), files))
    return Agent(
        id=str(data["id"]),
        install=Install(**install),
        scenarios=tuple(scenarios),
        words=data.get("words") or {},
        quote=str(data.get("quote") or ""),
        toolless=bool(data.get("toolless")),
        proxy=bool(data.get("proxy")),
    )


def _texts(mapping: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in mapping.items()}


def _step(data: Mapping[str, Any], place: str) -> Step:
    unknown = set(data) - _KEYS
    if unknown:
        raise ScenarioError(f"{place}: no such key: {', '.join(sorted(map(str, unknown)))}")
    truth = str(data.get("is") or "")
    if truth and truth not in TRUTHS:
        raise ScenarioError(f"{place}: is: no such state: {truth}")
    for key in ("wait", "gone"):
        try:
            re.compile(str(data.get(key) or ""))
        except re.error as error:
            raise ScenarioError(f"{place}: {key}: {error}") from None
    keys = data.get("key") or ()
    return Step(
        place=place,
        ask=str(data.get("ask") or ""),
        type=str(data.get("type") or ""),
        key=(keys,) if isinstance(keys, str) else tuple(map(str, keys)),
        wait=str(data.get("wait") or ""),
        gone=str(data.get("gone") or ""),
        over=bool(data.get("over")),
        within=float(data.get("within") or 20),
        pause=float(data.get("pause", 0.5)),
        truth=truth,
        save=str(data.get("save") or ""),
    )
