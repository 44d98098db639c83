"""Hook entries in JSON files: `hooks.EVENT` is a list of groups of handlers (Claude and its kin) or of handlers.

Ours are recognised by their command. Only they are added, changed or taken out; see `jsonedit` for how.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents_plugin.integrations import jsonedit, wrapper
from agents_plugin.integrations.jsontext import Node, TextError, line_of, parse

BOM = "\ufeff"


@dataclass(frozen=True)
class HooksJson:
    """How one agent writes hooks. `wanted` maps each event to the item we add to its list."""

    agent: str
    wanted: Mapping[str, Mapping[str, Any]]
    command_key: str = "command"  # where a handler's command stands
    grouped: bool = True  # items are groups with a list `hooks`; else handlers
    comments: bool = False
    scaffold: Mapping[str, Any] | None = None  # what else a file of this agent must hold

    def has_ours(self, text: str) -> bool:
        """Whether any entry is ours. Raises `TextError`."""
        return not _empty(text) and self._first(self._root(text)) is not None

    def install(self, text: str | None, backup: str | None) -> str:
        """The text with exactly the wanted entries of ours. Raises `TextError` when it cannot be edited safely."""
        if text is None or _empty(text):
            return _BARE if not self.wanted else self._write(_BARE)
        self._root(text)
        if self._exact(text):
            return text
        done = self._write(self._clean(text, backup))
        self._check(text, done)
        return done

    def remove(self, text: str, backup: str | None) -> str | None:
        """The text without ours; None when nothing else is left of a file that was not there before (no backup)."""
        if _empty(text):
            return text
        done = self._clean(text, backup)
        if done != text:
            done = self._unscaffolded(done, backup)
        self._check(text, done)
        if backup is not None and done != text and self._made_from(backup) == text:
            return backup
        if backup is None and done != text and not self._without_scaffold(parse(done, self.comments)):
            return None
        return done

    def foreign(self, text: str) -> list[str]:
        """Commands of others in the lists of the events we use."""
        if _empty(text):
            return []
        found = []
        for event, item in _items(parse(text, self.comments)):
            handlers = _handlers(item) if self.grouped else [item]
            said = [handler.get(self.command_key) for handler in handlers if handler.kind == "object"]
            found += [
                node.plain
                for node in said
                if event in self.wanted and node and isinstance(node.plain, str) and not self._is_ours(node)
            ]
        return found

    def _made_from(self, backup: str) -> str | None:
        try:
            return self.install(backup, None)
        except TextError:
            return None

    def _root(self, text: str) -> Node:
        root = parse(text, self.comments)
        if root.kind != "object":
            raise TextError("the outermost value is no object {…}", line_of(text, root.start))
        hooks = root.get("hooks")
        if hooks is not None and hooks.kind != "object":
            raise TextError('"hooks" is no object {…}', line_of(text, hooks.start))
        for entry in hooks.entries if hooks else ():
            if entry.key in self.wanted and entry.value.kind != "array":
                raise TextError(f'"hooks.{entry.key}" is no list […]', line_of(text, entry.start))
        return root

    def _write(self, text: str) -> str:
        for key, value in (self.scaffold or {}).items():
            root = parse(text, self.comments)
            if root.get(key) is None:
                text = jsonedit.append(text, root, value, jsonedit.style_of(text, root), key)
        root = parse(text, self.comments)
        style = jsonedit.style_of(text, root)
        if root.get("hooks") is None:
            wanted = {event: [dict(item)] for event, item in self.wanted.items()}
            return jsonedit.append(text, root, wanted, style, "hooks")
        for event, item in self.wanted.items():
            hooks = parse(text, self.comments).get("hooks")
            assert hooks is not None
            place = hooks.get(event)
            if place is None:
                text = jsonedit.append(text, hooks, [dict(item)], style, event)
            else:
                text = jsonedit.append(text, place, dict(item), style)
        return text

    def _clean(self, text: str, backup: str | None) -> str:
        """Without our handlers, and without the lists and groups that only held them."""
        known = self._known(backup)
        while True:
            root = self._root(text)
            found = self._first(root)
            if found is None:
                return text
            hooks, event, group, handler = found
            place = hooks.entries[event].value
            if self.grouped:
                handlers = place.entries[group].value.get("hooks")
                assert handlers is not None
                if len(handlers.entries) > 1:
                    text = jsonedit.remove(text, handlers, handler)
                    continue
            if len(place.entries) > 1:
                text = jsonedit.remove(text, place, group)
                continue
            name = hooks.entries[event].key
            raw = known.get(("hooks", name))
            if raw is not None:
                text = jsonedit.replace(text, place, raw)
            elif len(hooks.entries) > 1:
                text = jsonedit.remove(text, hooks, event)
            elif ("hooks",) in known:
                text = jsonedit.replace(text, hooks, known["hooks",])
            else:
                at = [entry.key for entry in root.entries].index("hooks")
                text = jsonedit.remove(text, root, at)

    def _known(self, backup: str | None) -> dict[tuple[str, ...], str]:
        """Empty containers of the user's own, as they were written: they stay."""
        if backup is None or _empty(backup):
            return {}
        try:
            hooks = self._root(backup).get("hooks")
        except TextError:
            return {}
        if hooks is None:
            return {}
        if not hooks.entries:
            return {("hooks",): backup[hooks.start : hooks.end]}
        return {
            ("hooks", entry.key): backup[entry.value.start : entry.value.end]
            for entry in hooks.entries
            if not entry.value.entries
        }

    def _first(self, root: Node) -> tuple[Node, int, int, int] | None:
        """The hooks object, and where in it our first handler is: number of event, of item, of handler."""
        hooks = root.get("hooks")
        if hooks is None:
            return None
        for event, entry in enumerate(hooks.entries):
            for number, item in enumerate(entry.value.entries):
                handlers = _handlers(item.value) if self.grouped else [item.value]
                for place, handler in enumerate(handlers):
                    if handler.kind == "object" and self._is_ours(handler.get(self.command_key)):
                        return hooks, event, number, place
        return None

    def _is_ours(self, said: Node | None) -> bool:
        return said is not None and wrapper.is_ours(said.plain, self.agent)

    def _exact(self, text: str) -> bool:
        """Whether ours are there already, each once and as wanted."""
        root = parse(text, self.comments)
        if any(root.get(key) is None for key in self.scaffold or {}):
            return False
        ours = []
        for event, item in _items(root):
            handlers = _handlers(item) if self.grouped else [item]
            mine = [h for h in handlers if h.kind == "object" and self._is_ours(h.get(self.command_key))]
            if mine:
                # Someone else's handler may have moved in with ours.
                data = item.data()
                if self.grouped:
                    data["hooks"] = [handler.data() for handler in mine]
                ours.append((event, data))
        return len(ours) == len(self.wanted) and all(self.wanted.get(event) == data for event, data in ours)

    def _check(self, before: str, after: str) -> None:
        """What is not ours must mean the same as before: the last guard against a bad edit."""
        if self._rest(before) != self._rest(after):
            raise TextError("it could not be edited without changing something else")

    def _rest(self, text: str) -> list[tuple[str, Any]]:
        root = self._root(text)
        data: dict[str, Any] = root.data()
        kept: dict[str, list[Any]] = {}
        for event, items in (data.get("hooks") or {}).items():
            if not isinstance(items, list):
                kept[event] = [items]
                continue
            for item in items:
                rest = self._rest_of(item)
                if rest is not None:
                    kept.setdefault(event, []).append(rest)
        data["hooks"] = list(kept.items())
        for key, value in (self.scaffold or {}).items():
            data.setdefault(key, value)
        return sorted(data.items(), key=lambda pair: pair[0] == "hooks")

    def _rest_of(self, item: Any) -> Any:
        """An item without our handlers; None when nothing is left."""
        if not isinstance(item, dict):
            return item
        if not self.grouped:
            return None if wrapper.is_ours(item.get(self.command_key), self.agent) else item
        handlers = item.get("hooks")
        if not isinstance(handlers, list):
            return item
        rest = [
            handler
            for handler in handlers
            if not (isinstance(handler, dict) and wrapper.is_ours(handler.get(self.command_key), self.agent))
        ]
        return None if len(rest) < len(handlers) and not rest else {**item, "hooks": rest}

    def _without_scaffold(self, root: Node) -> dict[str, Any]:
        data: dict[str, Any] = root.data()
        return {key: value for key, value in data.items() if (key, value) not in (self.scaffold or {}).items()}

    def _unscaffolded(self, text: str, backup: str | None) -> str:
        """Without what we had to add for our entries to be read: what the first version did not have."""
        try:
            had = self._root(backup).data() if backup is not None and not _empty(backup) else None
        except TextError:
            had = None
        for key, value in (self.scaffold or {}).items():
            root = parse(text, self.comments)
            node = root.get(key)
            if had is not None and key not in had and node and node.data() == value:
                text = jsonedit.remove(text, root, [entry.key for entry in root.entries].index(key))
        return text


_BARE = "{\n}\n"


def _empty(text: str) -> bool:
    return not text.removeprefix(BOM).strip()


def _items(root: Node) -> list[tuple[str, Node]]:
    hooks = root.get("hooks")
    return [(entry.key, item.value) for entry in hooks.entries for item in entry.value.entries] if hooks else []


def _handlers(item: Node) -> list[Node]:
    handlers = item.get("hooks") if item.kind == "object" else None
    return [entry.value for entry in handlers.entries] if handlers and handlers.kind == "array" else []
