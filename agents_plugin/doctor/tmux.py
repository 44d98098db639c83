"""Doctor's look at the tmux server: reachable, new enough, and with everything of ours in place."""

from __future__ import annotations

import time
from collections.abc import Iterator

from agents_plugin.core.evidence import Snapshot
from agents_plugin.doctor.finding import Finding, ok, problem, warn
from agents_plugin.doctor.machine import HOME
from agents_plugin.host import processes
from agents_plugin.host.runtime import Runtime
from agents_plugin.renewal import build
from agents_plugin.repair import expected_hooks
from agents_plugin.settings import BY_NAME, Settings
from agents_plugin.tmux.knock import knock
from agents_plugin.tmux.probe import Installed, too_old
from agents_plugin.tmux.runner import TmuxNotFound, client_version

DRIVER = "#(#{AGENTS_DRIVE})"
#: Noted by others, and looked at afresh by us.
_LOOKED_AT = {"options", "manifests", "keys", "executable"}
_BROKEN = {"monitor", "python", "tmux", "pass", "wait"}
#: Notes of several items, each worth a line.
_LISTS = {"input", "rules"}
_KEYS = {
    "@agents-jump-key": ("agents-jump", "jump_key"),
    "@agents-back-key": ("agents-back", "back_key"),
    "@agents-list-key": ("agents-list", "list_key"),
}


def reach(socket: str) -> Iterator[Finding]:
    """What is at the socket, told apart within a second: no server, a left-over file, a sandbox, a stuck server."""
    found = knock(socket)
    if found == "there":
        yield ok("server", f"listens at {socket}")
    elif found == "denied":
        yield problem("server", f"the socket {socket} may not be used from here: a sandbox, or another user's server")
    elif found == "stale":
        yield problem("server", f"no server: nobody listens at the socket file left at {socket}")
    elif found == "stuck":
        yield problem("server", f"the server at {socket} does not answer")
    else:
        yield problem("server", f"no server at {socket}")


def client() -> Iterator[Finding]:
    """The tmux that commands run."""
    try:
        version, path = client_version()
    except TmuxNotFound as missing:
        yield problem("tmux", str(missing))
        return
    yield from _aged(version, f"at {path}")


def versions(snapshot: Snapshot) -> Iterator[Finding]:
    """The running server's version, and whether it is that of the client."""
    server = snapshot.version
    yield from _aged(server, f"is the running server (pid {snapshot.server_pid})")
    try:
        version, path = client_version(snapshot.server_pid)
    except TmuxNotFound:
        return
    if version and version != server:
        yield warn("tmux", f"the server is {server}, {path} is {version}: restart the server to use the new one")


def _aged(version: str, where: str) -> Iterator[Finding]:
    if version and too_old(version):
        yield problem("tmux", f"{version} {where} is too old: it needs 3.2 or newer")
    else:
        yield ok("tmux", f"{version or 'of unknown version'} {where}")


def loaded(found: Installed) -> bool:
    """Whether the plugin was ever loaded into this server."""
    return bool(found.hooks or found.aliases or DRIVER in found.status_left + found.status_right)


def hooks(found: Installed) -> Iterator[Finding]:
    """Ours at their indexes, and hooks of windows or sessions that hide them."""
    wanted = expected_hooks()
    missing = sorted(wanted - found.hooks)
    if not loaded(found):
        yield problem("hooks", f"the plugin is not loaded in this server: run-shell {HOME / 'agents.tmux'}")
        return
    if missing:
        lost = ", ".join(missing)
        yield problem("hooks", f"gone: {lost} (a set-hook -g without an index wipes them); load the plugin again")
    else:
        yield ok("hooks", f"{len(wanted)} at index 4710")
    for place, name in found.masks:
        if name in wanted:
            yield warn("hooks", f"{place} has its own {name}, which hides ours there")


def keys(found: Installed, settings: Settings) -> Iterator[Finding]:
    """Which keys run our aliases."""
    if not loaded(found):
        return
    for option, (alias, field) in _KEYS.items():
        wanted = getattr(settings, field)
        ours = [_plain(key) for key, does in found.own_keys.items() if f"run-shell -C {alias}" in does]
        what = alias.removeprefix("agents-")
        if wanted == "none":
            yield ok("keys", f"{what}: none, as {option} says")
        elif wanted in ours:
            yield ok("keys", f"{what}: prefix {wanted}")
        elif ours:
            yield warn("keys", f"{what}: prefix {' and '.join(ours)}, because prefix {wanted} was yours; set {option}")
        else:
            taken = next((does for key, does in found.keys.items() if _plain(key) == wanted), "")
            why = f"prefix {wanted} is yours ({taken[:40]})" if taken else "the key is not bound yet"
            yield warn("keys", f"{what}: no key, {why}; set {option}")


def _plain(key: str) -> str:
    """A key as people write it: list-keys quotes some."""
    if len(key) > 2 and key[0] == key[-1] == '"':
        return key[1:-1]
    return key[1:] if len(key) == 2 and key[0] == "\\" else key


def status_line(found: Installed) -> Iterator[Finding]:
    """The placeholder, the segment and the driver in status-left and status-right."""
    if not loaded(found):
        return
    text = found.status_left + found.status_right
    if DRIVER in text:
        off = ", which is off (status off): a helper that ends is started by the next switch of windows"
        yield ok("status", f"the driver is in the status line{off if found.status == 'off' else ''}")
    else:
        yield problem(
            "status", "the driver is gone from the status line (a theme loaded later?): load the plugin again"
        )
    if "#{agents_status}" in text:
        yield warn("status", "the placeholder #{agents_status} was not replaced: load the plugin after what writes it")
    elif "@agents_status" not in text:
        yield warn("status", "the segment is not shown: put #{agents_status} into status-left or status-right")


def options(snapshot: Snapshot, settings: Settings, found: Installed) -> Iterator[Finding]:
    """Options of ours with a wrong value, or a name that means nothing."""
    unknown = [name for name in found.options if name not in BY_NAME]
    problems = [*settings.problems, *(f"{name} is not an option of ours" for name in unknown)]
    yield from (warn("options", text) for text in problems)
    if not problems:
        yield ok("options", f"{len(snapshot.settings)} set")
    if not settings.enabled:
        yield warn("options", "@agents-enabled is off: nothing runs")


def monitor(runtime: Runtime, settings: Settings, found: Installed, snapshot: Snapshot) -> Iterator[Finding]:
    """The helper: alive, its age, its code."""
    holder = runtime.holder()
    if not settings.monitor:
        yield ok("monitor", "off (@agents-monitor): each tick of the status line makes one pass")
        if holder:
            yield warn("monitor", f"process {holder.pid} still runs; it ends at its next pass")
        return
    if holder is None:
        level = problem if loaded(found) and settings.enabled else warn
        switch = "the next switch of windows or load of the plugin starts it"
        if found.status == "off":
            start = f"the status line is off: {switch}"
        elif not snapshot.clients:
            start = f"no client is attached: {switch}"
        else:
            start = "states stand still until the status line's next tick starts it"
        yield level("monitor", f"not running: {start}")
        return
    if runtime.hangs():
        yield problem(
            "monitor", f"process {holder.pid} does not answer since {runtime.beat_age()} s; it is replaced soon"
        )
        return
    started = processes.started_of(holder.pid)
    age = f", for {_span(time.time() - started)}" if started else ""
    yield ok("monitor", f"process {holder.pid}{age}, version {holder.version or 'unknown'}")
    if holder.version and build() not in ("", holder.version):
        yield warn("monitor", "it runs older code than what is installed; it is replaced within a minute")


def noted(runtime: Runtime) -> Iterator[Finding]:
    """What the monitor and the scripts have left for us."""
    for key, text in sorted(runtime.problems().items()):
        if key not in _LOOKED_AT:
            for line in text.split("; ") if key in _LISTS else (text,):
                yield (problem if key in _BROKEN else warn)(key, line)


def _span(seconds: float) -> str:
    whole = max(0, int(seconds))
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if whole >= 2 * size:
            return f"{whole // size} {unit}"
    return f"{whole} seconds"
