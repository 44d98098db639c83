"""What a command line runs: names without decoration, the script behind an interpreter, the command behind a wrapper.

Everything here is pure and works on one process; `core/identity.py` works on trees. Paths are never searched for
substrings: `tail ~/dev/opencode/log` and `pytest tests/aider` are no agents.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

#: The kernel keeps 15 characters of a name on Linux, 16 on macOS.
TRUNCATED = (15, 16)
_MAX_DEPTH = 8
#: Characters of a path or a command line whose reading is remembered: a prompt as an argument may have 64 kB.
_KEPT = 1024
_MAX_SHELL_TEXT = 4096


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


SHELLS = _set("sh bash dash zsh fish ksh mksh ash tcsh csh nu elvish xonsh pwsh powershell busybox login")
REMOTE = _set(
    "ssh autossh sshpass mosh mosh-client et telnet rsh docker podman nerdctl kubectl oc lxc incus limactl multipass "
    "vagrant machinectl distrobox toolbox devcontainer waypipe"
)
MULTIPLEXERS = _set("tmux screen zellij byobu dvtm abduco dtach shpool tmate")
#: Programs with terminals of their own inside: what runs below them is not on this pane's screen.
HOSTS = _set("nvim vim vi emacs emacsclient hx kak micro code") | REMOTE | MULTIPLEXERS

_ARCH = sorted(
    _set("aarch64 arm64 x86_64 x64 amd64 i686 armv7 linux darwin macos apple windows win32 unknown musl baseline")
)
_ARCH_SUFFIX = re.compile(rf"-(?:{'|'.join(_ARCH)})(?:[-_.].*)?$")
_VERSION_SUFFIX = re.compile(r"(?:@[\w.^~*-]+|-v?\d+(?:\.\d+)+\S*)$")
_RUNTIME_VERSION = re.compile(r"^(python|pypy|node|ruby|perl|deno|bun|bash|ksh)-?v?\d[\d.]*[a-z]?$")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")

# Options that take the next word as their value, per interpreter.
_INTERPRETERS: dict[str, frozenset[str]] = {
    "node": _set("-r --require --import --loader --experimental-loader -C --conditions --env-file"),
    "bun": _set("-r --preload --cwd -c --config --env-file"),
    "deno": _set("-c --config --import-map --cert --location --lock --env-file"),
    "tsx": _set("--tsconfig --import --require"),
    "ts-node": _set("-P --project -r --require"),
    "python": _set("-W -X --check-hash-based-pycs"),
    "ruby": _set("-r -I -C -E"),
    "perl": _set("-I"),
}
_ALIASES = {"nodejs": "node", "pypy": "python", "pythonw": "python"}
_SHELL_VALUES = _set("-o +o -O +O --rcfile --init-file")
_EVAL = _set("-e -p -pe -c -ne --eval --print")

# Wrappers: options with a value, and how many positional words stand before the command.
_WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "env": (_set("-u --unset -C --chdir -S --split-string"), 0),
    "timeout": (_set("-s --signal -k --kill-after"), 1),
    "nice": (_set("-n --adjustment"), 0),
    "ionice": (_set("-c -n --class --classdata"), 0),
    "chrt": (frozenset(), 1),
    "taskset": (frozenset(), 1),
    "stdbuf": (_set("-i -o -e --input --output --error"), 0),
    "sudo": (_set("-u -g -h -p -C -T -r -t -D -R -U --user --group --host --prompt --chdir --chroot"), 0),
    "doas": (_set("-u -C"), 0),
    "runuser": (_set("-u -g -G --user --group"), 0),
    "caffeinate": (_set("-t -w"), 0),
    "direnv": (frozenset(), 2),  # direnv exec DIR cmd
    **{name: (frozenset(), 0) for name in _set("nohup setsid time command exec unbuffer arch gtime rlwrap")},
}
_WRAPPERS["gtimeout"] = _WRAPPERS["timeout"]

# Runners: the sub-commands after which a command stands; an empty set means the runner itself.
_RUNNERS: dict[str, frozenset[str]] = {
    **{name: frozenset() for name in _set("npx bunx pnpx uvx")},
    **{name: _set("exec x dlx") for name in _set("npm pnpm yarn bun")},
    "mise": _set("exec x"),
    "pipx": _set("run"),
    "uv": _set("run tool"),
    **{name: _set("run") for name in _set("poetry pipenv pdm hatch rye pixi conda mamba volta op doppler")},
    **{name: _set("run") for name in _set("infisical dotenvx flox devbox systemd-run")},
    **{name: _set("exec") for name in _set("asdf pyenv nodenv fnm aws-vault rtx")},
}
_RUNNER_VALUES = _set(
    "-p --package --from --with --python -w --registry --cache -n --name --project --directory --prefix --env-file "
    "--index-url --filter -C --dir --using"
)
_SCRIPT_DECORATION = re.compile(r"(?:-cli)?\.[cm]?js$")


@dataclass(frozen=True)
class Program:
    """What one process runs.

    `names` are normalised basenames, `paths` a script or package, `direct` false when read through a wrapper whose
    child will be the real thing, `script` true for code run by an interpreter.
    """

    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    module: str = ""
    args: tuple[str, ...] = ()
    direct: bool = True
    script: bool = False
    shell: bool = False  # an interactive shell: no script, no -c


def basename(text: str) -> str:
    """The last component of a path of either kind of slash, without quotes; the colon form of `tmux: client` is cut."""
    text = text.strip().strip("'\"")
    text = re.split(r"[/\\]", text.rstrip("/\\"))[-1]
    return text.split(": ", 1)[0].rstrip(":")


def normalise(text: str) -> str:
    """A program's name without what packaging adds: path, login dash, `.exe`, Nix wrapping, version, architecture."""
    raw = basename(text)
    name = raw[1:] if raw.startswith("-") else raw
    if name.lower().endswith(".exe"):
        name = name[:-4]
    if name.startswith(".") and len(name) > 1:
        name = name[1:]
        stem, dash, tail = name.rpartition("-")
        # `.claude-wrapped`; a longer name is cut inside the suffix: `.opencode-wrapp`.
        if dash and tail and ("wrapped".startswith(tail) if len(raw) in TRUNCATED else tail == "wrapped"):
            name = stem
    name = _VERSION_SUFFIX.sub("", name) or name
    name = _ARCH_SUFFIX.sub("", name) or name
    if len(raw) in TRUNCATED and "-" in name:
        stem, _, tail = name.rpartition("-")
        if stem and any(word.startswith(tail) for word in _ARCH):  # an architecture cut short; `codex-` as well
            name = stem
    runtime = _RUNTIME_VERSION.match(name)
    return runtime.group(1) if runtime else name


def same_name(candidate: str, name: str) -> bool:
    """Whether a normalised candidate is `name`, also when the kernel cut it."""
    return candidate == name or (
        len(candidate) in TRUNCATED and len(name) > len(candidate) and name.startswith(candidate)
    )


def has_components(path: str, wanted: Sequence[str]) -> bool:
    """Whether the `wanted` components stand next to each other in `path`; versions (`name@1.2`) do not matter."""
    have, want = components(path), tuple(wanted)
    if not want or want[0] not in have:
        return False
    return any(have[i : i + len(want)] == want for i in range(len(have) - len(want) + 1))


def components(path: str) -> tuple[str, ...]:
    """A path's components without versions. Every manifest asks for the same few paths: half of a first pass's time."""
    return _components(path) if len(path) <= _KEPT else _components.__wrapped__(path)


@lru_cache(maxsize=2048)
def _components(path: str) -> tuple[str, ...]:
    parts = re.split(r"[/\\]", path.strip("'\"").removeprefix("npm:"))
    return tuple(_VERSION_SUFFIX.sub("", part) or part for part in parts)


def program(comm: str, argv: Sequence[str] = (), exe: str = "") -> Program:
    """What a process runs, from its kernel name, arguments and executable; whatever is unreadable is left empty."""
    short = sum(map(len, argv)) + len(exe) <= _KEPT
    return (_program if short else _program.__wrapped__)(comm, tuple(argv), exe)


@lru_cache(maxsize=1024)
def _program(comm: str, argv: tuple[str, ...], exe: str) -> Program:
    words = _words(argv)
    own = [normalise(text) for text in (words[0] if words else "", comm, exe) if text]
    direct = True
    for _ in range(_MAX_DEPTH):
        if not words:
            break
        name = _runtime(words[0])
        if name in SHELLS:
            found = _shell(words)
            if found is None:
                return Program(tuple(own), (), "", tuple(words[1:]), direct, shell=direct)
            words, direct = (found[1], direct) if found[0] else (_simple(found[1]), False)
            if found[0]:
                return _script(own if direct else [], words, direct)
            continue
        rest = _unwrap(name, words)
        if rest is not None:
            words, direct = rest, False
            continue
        if name in _INTERPRETERS:
            script = _interpret(name, words)
            if isinstance(script, str):
                return Program(tuple(own) if direct else (), (), script, tuple(words), direct, script=True)
            if not script:
                break
            if _SCRIPT_DECORATION.sub("", basename(script[0])) in _RUNNERS:  # node /usr/lib/…/npx-cli.js
                words = [_SCRIPT_DECORATION.sub("", basename(script[0])), *script[1:]]
                if _unwrap(words[0], words) is not None:
                    continue
            return _script(own if direct else [], script, direct)
        break
    if direct:
        return Program(tuple(own), tuple(filter(None, (exe, words[0] if words else ""))), "", tuple(words[1:]), True)
    if not words:
        return Program(direct=False)
    return Program((normalise(words[0]),), (words[0],), "", tuple(words[1:]), False)


def says(args: Iterable[str], phrase: str) -> bool:
    """Whether the arguments before `--` hold a phrase of whole words: `exec`, `--mode json`, also `--mode=json`."""
    words: list[str] = []
    for word in args:
        if word == "--":
            break
        words.extend(word.split("=", 1) if word.startswith("--") and "=" in word else (word,))
    want = phrase.split()
    return bool(want) and any(words[i : i + len(want)] == want for i in range(len(words) - len(want) + 1))


def _script(own: list[str], words: Sequence[str], direct: bool) -> Program:
    names = tuple(dict.fromkeys([*own, normalise(words[0].removeprefix("npm:"))]))
    return Program(names, (words[0],), "", tuple(words[1:]), direct, script=True)


def _words(argv: Sequence[str]) -> list[str]:
    words = [word for word in argv if word] if len(argv) > 1 else list(argv)
    if len(words) == 1 and " " in words[0].strip() and "/" not in words[0].split(" ", 1)[0]:
        # A process title written over the arguments: `npm exec @scope/name`. A quoted path with spaces stays whole.
        words = words[0].split()
    return words


def _runtime(word: str) -> str:
    name = normalise(word)
    return _ALIASES.get(name.lower(), name)


def _shell(words: list[str]) -> tuple[bool, list[str]] | None:
    """(True, script and arguments), (False, [text of -c]) or None for an interactive shell."""
    rest = iter(range(1, len(words)))
    for i in rest:
        word = words[i]
        if word in _SHELL_VALUES:
            next(rest, None)
        elif word.startswith("--") and word != "--":
            continue
        elif word[:1] in ("-", "+") and word != "--":
            if word.startswith("-") and "c" in word:
                return (False, words[i + 1 : i + 2]) if i + 1 < len(words) else None
        else:
            script = words[i + 1 :] if word == "--" else words[i:]
            return (True, script) if script else None
    return None


def _simple(text: list[str]) -> list[str]:
    """The first simple command of `sh -c` text that starts a program; [] when the text is not that simple."""
    try:
        lexer = shlex.shlex(text[0][:_MAX_SHELL_TEXT] if text else "", posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        tokens = list(lexer)
    except ValueError:
        return []
    command: list[str] = []
    for token in [*tokens, ";"]:
        if token and not set(token) - set(";&|()<>"):
            if set(token) & set("<>()"):
                break
            command = _past_assignments(command)
            if command and command[0] not in ("cd", "export", "set", "umask", "ulimit", "true", ":"):
                break
            command = []
        else:
            command.append(token)
    return _past_assignments(command)


def _past_assignments(words: list[str]) -> list[str]:
    start = next((i for i, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    return words[start:]


def _unwrap(name: str, words: list[str]) -> list[str] | None:
    """The command behind a wrapper or runner, [] when it runs nothing, None when `name` is neither."""
    if name in _WRAPPERS:
        values, skip = _WRAPPERS[name]
        rest = _past_options(words[1:], values)
        return _past_assignments(rest[skip:] if skip else rest)
    if name == "su":
        return words[words.index("-c") + 1 : words.index("-c") + 2] if "-c" in words[:-1] else []
    if name in _RUNNERS:
        wanted = _RUNNERS[name]
        rest = words[1:]
        if wanted:
            rest = _past_options(rest, _RUNNER_VALUES)
            if not rest or rest[0] not in wanted:
                return [] if name != "bun" else None
            rest = rest[2:] if rest[:2] == ["tool", "run"] else rest[1:]
            if name in ("mise", "op", "doppler", "infisical", "aws-vault", "rtx") and "--" in rest:
                return rest[rest.index("--") + 1 :]
        return _past_options(rest, _RUNNER_VALUES)
    return None


def _past_options(words: Sequence[str], values: frozenset[str]) -> list[str]:
    i = 0
    while i < len(words) and words[i].startswith("-"):
        if words[i] == "--":
            return list(words[i + 1 :])
        i += 2 if words[i] in values else 1
    return list(words[i:])


def _interpret(name: str, words: list[str]) -> list[str] | str:
    """Script and arguments, a module name (`-m`), or [] when the interpreter runs no script."""
    values = _INTERPRETERS[name]
    i = 1
    while i < len(words):
        word = words[i]
        if name == "python" and re.match(r"^-[A-Za-z]*m$", word):
            return words[i + 1] if i + 1 < len(words) else []
        if word in _EVAL and not (name == "bun" and word == "-c"):
            return []
        if name == "python" and re.match(r"^-[A-Za-z]*c$", word):
            return []
        if word in ("run", "exec") and name in ("deno", "bun", "tsx"):
            i += 1
        elif word == "--":
            return words[i + 1 :]
        elif word.startswith("-"):
            i += 2 if word in values else 1
        else:
            return words[i:]
    return []
