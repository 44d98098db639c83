"""Manifest files: reads YAML, names file, line and key of what is wrong, keeps the catalog in force."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents_plugin.core.guard import RunawayError
from agents_plugin.core.manifest import Manifest, build, outline
from agents_plugin.core.schema import ManifestError
from agents_plugin.core.text import strip_controls
from agents_plugin.host.faults import described
from agents_plugin.host.files import load_regular
from agents_plugin.host.guard import AlarmGuard
from agents_plugin.manifest_cache import ManifestCache, Stamp

#: The manifests that come with the plugin.
BUNDLED = Path(__file__).resolve().parent.parent / "manifests"
#: The largest of ours has 18 kB. Reading this much costs 0.2 s of CPU, and once: what is wrong is kept, too.
MAX_BYTES = 128 * 1024
#: Manifests of one directory; the rest are named, not read.
MAX_FILES = 200
#: CPU time for one file: expressions are tried on an empty row, which some take for ever to match.
READ_S = 2.0
#: Stands for the time of a file in the note of those that are not read.
_SURPLUS = -1
_KEY_CHARS, _MESSAGE_CHARS = 160, 300


class ManifestFileError(Exception):
    """A file that cannot be used: `str()` is `file:line: key: what is wrong`, line counted from 1."""

    def __init__(self, file: str, line: int, key: str, message: str) -> None:
        # Both may quote the file, and so be as long as it is.
        key, message = key[:_KEY_CHARS], strip_controls(message[:_MESSAGE_CHARS])
        self.file, self.line, self.key, self.message = file, line, key, message
        super().__init__(f"{file}:{line}: {key}: {message}" if key else f"{file}:{line}: {message}")


def load(path: Path) -> Manifest:
    """One manifest from a YAML file. Raises `ManifestFileError`."""
    return parse(_read(path), str(path))


def parse(text: str, origin: str) -> Manifest:
    """One manifest from YAML text. Raises `ManifestFileError`; `origin` is the file name used in messages."""
    return _parse(text, origin)[1]


def _parse(text: str, origin: str) -> tuple[Any, Manifest]:
    """Plain data and the manifest made of it."""
    import yaml

    try:
        with AlarmGuard(READ_S).limit():
            data = yaml.load(text, _loader())
            return data, build(data, origin)
    except RunawayError:
        raise ManifestFileError(origin, 1, "", f"takes more than {READ_S:g} s to read") from None
    except ManifestError as error:
        raise ManifestFileError(origin, _line(text, error.path), error.key, error.message) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ManifestFileError(origin, mark.line + 1 if mark else 1, "", error.problem or "not YAML") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ManifestFileError(origin, 1, "", next(iter(str(error).splitlines()), type(error).__name__)) from None
    except Exception as error:
        raise ManifestFileError(origin, 1, "", described(error)) from None


def _read(path: Path) -> str:
    try:
        data = load_regular(path, MAX_BYTES + 1)
    except OSError as error:
        raise ManifestFileError(str(path), 1, "", error.strerror or str(error)) from None
    if len(data) > MAX_BYTES:
        raise ManifestFileError(str(path), 1, "", f"larger than {MAX_BYTES // 1024} KiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ManifestFileError(str(path), data[: error.start].count(b"\n") + 1, "", "not UTF-8") from None


_LOADER: Any = None


def _loader() -> Any:
    """The fast safe loader, libyaml where it is: a key given twice is an error, `Yes`, `no` and `on` are texts."""
    global _LOADER
    if _LOADER is None:
        import yaml

        base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

        class Loader(base):  # type: ignore[misc]
            def construct_mapping(self, node: Any, deep: bool = False) -> Any:
                mapping = super().construct_mapping(node, deep=deep)
                if len(mapping) != len(node.value):
                    seen = set()
                    for key, _ in node.value:
                        if key.value in seen:
                            raise yaml.constructor.ConstructorError(
                                None, None, f"key {key.value} is given twice", key.start_mark
                            )
                        seen.add(key.value)
                return mapping

        # YAML 1.1 reads the answers of dialogs as booleans; 1.2 does not.
        Loader.yaml_implicit_resolvers = {
            first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:bool"]
            for first, pairs in base.yaml_implicit_resolvers.items()
        }
        Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
        _LOADER = Loader
    return _LOADER


def _line(text: str, path: Sequence[str | int]) -> int:
    """The line (from 1) of a key in YAML text; as deep as the path can be followed."""
    import yaml

    try:
        # libyaml where it is: the other one needs 5 s for half a megabyte.
        node = yaml.compose(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return 1
    line = 0
    for step in path:
        if isinstance(node, yaml.MappingNode):
            pair = next(((key, value) for key, value in node.value if key.value == str(step)), None)
            if pair is None:
                break
            line, node = pair[0].start_mark.line, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line
        else:
            break
    return line + 1


@dataclass
class _File:
    """One file: what is wrong with it, or its outline and, once somebody reads screens with it, the whole manifest."""

    stamp: Stamp
    problem: str = ""
    outline: Manifest | None = None
    data: Any = None  # checked before
    whole: Manifest | None = None

    @property
    def manifest(self) -> Manifest | None:
        """The whole manifest, built on first use."""
        if self.whole is None and self.outline is not None:
            try:
                with AlarmGuard(READ_S).limit():
                    self.whole = build(self.data, self.outline.origin)
            except Exception as error:  # a cache that somebody else wrote
                self.problem, self.outline = f"{self.outline.origin}: {described(error)}", None
        return self.whole


class Catalog:
    """The manifests in force. A later directory replaces ids of an earlier one and adds new ones.

    `refresh()` costs one directory listing and a `stat` per file while nothing changed; changed files alone are read.
    With a `cache`, files that were checked before are built only when they are asked for.
    """

    def __init__(self, directories: Sequence[Path | str] = (BUNDLED,), cache: ManifestCache | None = None) -> None:
        self.directories = [Path(directory) for directory in directories]
        #: Who is who: every manifest in force without its rules, the same object until something changes.
        self.outlines: tuple[Manifest, ...] = ()
        self._cache = cache
        self._files: dict[str, _File] = {}
        self._by_id: dict[str, _File] = {}
        self._bundled: tuple[int, list[tuple[str, Stamp]]] = (0, [])
        self.refresh()

    @property
    def problems(self) -> list[str]:
        """One line per file that cannot be used."""
        return [file.problem for file in self._files.values() if file.problem]

    def refresh(self) -> bool:
        """Reads what changed. True when the set of manifests or problems is not the same as before."""
        files = {path: self._file(path, stamp) for path, stamp in self._listing()}
        if files.keys() == self._files.keys() and all(files[path] is self._files[path] for path in files):
            return False
        self._files = files
        self._by_id = {file.outline.id: file for file in files.values() if file.outline}
        self.outlines = tuple(file.outline for file in self._by_id.values() if file.outline)
        if self._cache:
            self._cache.keep(files)
            self._cache.save()
        return True

    def _listing(self) -> Iterator[tuple[str, Stamp]]:
        for directory in self.directories:
            if directory != BUNDLED:
                yield from _list(directory)
                continue
            # Ours change by updates, which replace files: the directory's own time tells.
            try:
                changed = os.stat(directory).st_mtime_ns  # noqa: PTH116  hot
            except OSError:  # moved away: what was read stays in force
                changed = self._bundled[0]
            if changed != self._bundled[0]:
                self._bundled = (changed, list(_list(directory)))
            yield from self._bundled[1]

    def _file(self, path: str, stamp: Stamp) -> _File:
        known = self._files.get(path)
        if known and known.stamp == stamp:
            return known
        if stamp[0] == _SURPLUS:
            return _File(stamp, f"{path}: {stamp[1]} files beyond {MAX_FILES} are left out")
        data = self._cache.get(path, stamp) if self._cache else None
        if isinstance(data, str):
            return _File(stamp, data)
        if data is not None:
            with contextlib.suppress(Exception):  # a cache that somebody else wrote: read the file
                return _File(stamp, outline=outline(data, path), data=data)
        try:
            text = _read(Path(path))
        except ManifestFileError as error:  # who may read it can change, and its stamp does not
            return _File(stamp, str(error))
        try:
            data, manifest = _parse(text, path)
        except ManifestFileError as error:
            if self._cache:
                self._cache.put(path, stamp, str(error))
            return _File(stamp, str(error))
        if self._cache:
            self._cache.put(path, stamp, data)
        return _File(stamp, outline=manifest, whole=manifest)

    def __iter__(self) -> Iterator[Manifest]:
        return (file.manifest for file in self._by_id.values() if file.manifest)

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, ident: str) -> Manifest | None:
        """The manifest with this id."""
        file = self._by_id.get(ident)
        return file.manifest if file else None

    def find(self, name: str) -> Manifest | None:
        """The manifest meant by a name people write: an id, an alias or a binary, each also with a version suffix."""
        plain = name.strip().lower()
        tries = [plain]
        while "-" in tries[-1] and tries[-1].rsplit("-", 1)[1][:1].isdigit():
            tries.append(tries[-1].rsplit("-", 1)[0])
        for wanted in tries:
            if wanted in self._by_id:
                return self.get(wanted)
            for known in self.outlines:
                if wanted in known.aliases or wanted in known.identity.names:
                    return self.get(known.id)
        return None


def _list(directory: Path) -> Iterator[tuple[str, Stamp]]:
    """The manifests of a directory, in order of name; a directory that cannot be listed has none."""
    try:
        with os.scandir(directory) as entries:
            found = sorted((entry.path, entry) for entry in entries if entry.name.endswith((".yaml", ".yml")))
    except OSError:
        return
    for path, entry in found[:MAX_FILES]:
        try:
            facts = entry.stat()
        except OSError:
            yield path, (0, 0, 0)
            continue
        yield path, (facts.st_mtime_ns, facts.st_size, facts.st_ino)
    if len(found) > MAX_FILES:
        yield str(directory), (_SURPLUS, len(found) - MAX_FILES, 0)


def own_directory(named: str | None) -> Path:
    """The directory of own manifests somebody named, else the user's. Raises OSError when a named one has no list."""
    if named is None:
        return user_directory()
    with os.scandir(named):
        return Path(named)


def user_directory(environment: dict[str, str] | None = None) -> Path:
    """Where user manifests live unless `@agents-manifests` says otherwise (XDG)."""
    env = os.environ if environment is None else environment
    base = Path(env.get("XDG_CONFIG_HOME", ""))
    root = base if base.is_absolute() else Path(env.get("HOME") or Path.home()) / ".config"
    return root / "agents.tmux" / "manifests"
