"""What has to change in whose files, and the change itself. Nothing here asks or prints."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents_plugin.integrations import files, wrapper
from agents_plugin.integrations.agents import AGENTS, Agent, Env, Part
from agents_plugin.integrations.files import Changed, FileError, Found
from agents_plugin.integrations.jsontext import TextError

#: Directories that are only made for us; removed again when nothing is left in them.
_OWN_DIRECTORIES = frozenset({"plugin", "extensions", "hooks"})


class Refusal(Exception):
    """A file that is left as it is: `str()` is `path: why`."""

    def __init__(self, path: Path, why: Exception | str) -> None:
        self.path, self.why = path, str(why)
        super().__init__(f"{path}: {why}")


@dataclass(frozen=True)
class Change:
    """One file: as it was found, and its text afterwards (None: there is none)."""

    part: Part
    found: Found
    before: str | None
    after: str | None
    remove: bool

    @property
    def needed(self) -> bool:
        """Whether the file changes at all."""
        return self.before != self.after


def wired(agent: Agent) -> tuple[str, ...]:
    """The events of an agent we listen to: those its manifest gives a meaning, of those known to be harmless."""
    from agents_plugin.manifest_cache import open_cache
    from agents_plugin.manifests import BUNDLED, Catalog, user_directory

    if not agent.events:
        return ()
    # Installing leaves nothing in a home but what it showed.
    manifest = Catalog((BUNDLED, user_directory()), open_cache(os.environ, writable=False)).get(agent.id)
    hooks = manifest.hooks if manifest else None
    if hooks is None:
        return agent.events
    named = {name for rule in hooks.events if not rule.ignore for name in rule.on}
    return tuple(event for event in agent.events if event in named) or agent.events


def parts_of(agent: Agent, environ: Env) -> list[Part]:
    """The files of an integration, as they should be now."""
    return agent.parts(environ, wrapper.path(environ), wired(agent))


def changes(agent: Agent, environ: Env, *, remove: bool = False) -> list[Change]:
    """What installing (or removing) changes, file by file. Raises `Refusal`: then nothing of it should be done."""
    return [_change(part, _look(part), remove) for part in parts_of(agent, environ)]


def perform(change: Change) -> bool:
    """Write it. Once more when the file changed meanwhile, then `Refusal`. Whether anything was written."""
    for last in (False, True):
        if not change.needed:
            break
        found = change.found
        try:
            if not change.remove:
                files.keep(found)
            files.replace(found, None if change.after is None else change.after.encode("utf-8"))
        except Changed as changed:
            if last:
                raise Refusal(found.path, f"{changed}, twice; nothing was written") from None
            change = _change(change.part, _look(change.part), change.remove)
            continue
        except FileError as error:
            raise Refusal(found.path, error) from None
        if change.remove:
            files.drop_backup(found)
            _tidy(found)
        return True
    return False


def prepare_wrapper(environ: Env) -> bool:
    """Make the wrapper or bring it up to date; whether it changed. Raises `Refusal`."""
    place = wrapper.path(environ)
    wanted = wrapper.text(wrapper.plugin_home()).encode("utf-8")
    try:
        found = files.read(place)
        if found.data == wanted and os.access(place, os.X_OK):
            return False
        files.replace(Found(place, found.real, found.data, 0o755, found.owner), wanted)
        place.chmod(0o755)
    except (FileError, OSError) as error:
        raise Refusal(place, error) from None
    return True


def follow_the_plugin(environ: Env) -> None:
    """A wrapper whose plugin is gone calls the one that runs now: it was moved. Nothing is made, nothing is raised."""
    with contextlib.suppress(FileError, Refusal, OSError):
        text = files.read(wrapper.path(environ)).text
        target = wrapper.target(text) if text else None
        if target is not None and not target.exists():
            prepare_wrapper(environ)


def installed_anywhere(environ: Env) -> list[Agent]:
    """The agents whose files hold anything of ours, readable or not."""
    found = []
    for agent in AGENTS.values():
        for part in parts_of(agent, environ):
            try:
                text = _look(part).text
                ours = text is not None and part.format.has_ours(text)
            except (Refusal, FileError):
                continue
            except TextError:
                ours = wrapper.TAIL in (text or "")
            if ours:
                found.append(agent)
                break
    return found


def named(names: Sequence[str], aliases: Mapping[str, str]) -> tuple[list[Agent], list[str]]:
    """Agents by the names people write, each once, and the names that mean none."""
    found: dict[str, Agent] = {}
    unknown = []
    for name in names:
        agent = AGENTS.get(name.strip().lower()) or AGENTS.get(aliases.get(name, ""))
        if agent:
            found[agent.id] = agent
        else:
            unknown.append(name)
    return list(found.values()), unknown


def _look(part: Part) -> Found:
    try:
        found = files.read(part.path)
        _ = found.text
    except FileError as error:
        raise Refusal(part.path, error) from None
    return found


def _change(part: Part, found: Found, remove: bool) -> Change:
    before = found.text
    backup = files.read_backup(part.path)
    try:
        if remove:
            after = None if before is None else part.format.remove(before, backup)
        else:
            after = part.format.install(before, backup)
    except TextError as error:
        raise Refusal(part.path, error) from None
    return Change(part, found, before, after, remove)


def _tidy(found: Found) -> None:
    """A directory that held nothing but our file goes with it."""
    if found.path.exists() or found.path.parent.name not in _OWN_DIRECTORIES or found.path.is_symlink():
        return
    with contextlib.suppress(OSError):
        found.path.parent.rmdir()
