"""The helper kept warm: one per tmux server, gone with it. Everything it knows it could learn again."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import time
from collections.abc import Mapping
from types import FrameType
from typing import Any

from agents_plugin import repair
from agents_plugin.core.text_forms import for_program
from agents_plugin.cycle import Cycle, Pass, Subject
from agents_plugin.host import alerts, processes
from agents_plugin.host.faults import Faults, described
from agents_plugin.host.runtime import Holder, MonitorLock, Runtime
from agents_plugin.renewal import Renewal
from agents_plugin.server import Target
from agents_plugin.tmux.runner import ServerGone, TmuxError

#: Seconds between passes: while something works or waits for its time, while an answer is awaited, while nothing
#: happens, and right after a poke.
BUSY_S, ASKED_S, QUIET_S, POKED_S = 1.0, 1.5, 3.0, 0.25
#: Seconds a poke keeps passes frequent, between looks at records and processes, and between checks of ourselves.
POKE_LASTS_S, GLANCE_S, SELF_CHECK_S = 2.0, 0.25, 60.0
#: Seconds in which whoever switches us off ends us.
SWITCHED_S = 1.5
#: The same glance while nothing happens: half the cost of a machine at rest.
QUIET_GLANCE_S = 0.5
#: Seconds between the two looks at an old beat; longer than any pause between passes.
SECOND_LOOK_S = 4.0
#: The longest rest after passes that ended in an error nobody thought of; well below what counts as hung.
LONGEST_REST_S = 8.0
#: CPU time an agent uses between two glances when it wakes up: redrawing a turn takes more, a blinking cursor less.
AWAKE_TICKS = 2


def take_lock(runtime: Runtime, version: str, patience_s: float = 3.0) -> MonitorLock | None:
    """Become the monitor. One of another version is asked to leave, one that hangs is killed.

    None when the same version is at work, or the one there is does not go.
    """
    until = time.monotonic() + patience_s
    asked: Holder | None = None
    while True:
        lock = runtime.lock(version)
        if lock is not None:
            return lock
        holder = runtime.holder()
        if holder is not None and holder != asked:
            hung = _hangs(runtime, holder)
            if holder.version == version and not hung:
                return None
            asked, until = holder, time.monotonic() + patience_s
            _send(holder.pid, signal.SIGKILL if hung else signal.SIGTERM)
        if time.monotonic() > until:
            return None
        time.sleep(0.05)


def _hangs(runtime: Runtime, holder: Holder) -> bool:
    """Two looks at the beat: a machine that slept wakes with an old one, and who lives beats with its next pass."""
    if not runtime.hangs():
        return False
    time.sleep(SECOND_LOOK_S)
    return runtime.hangs() and runtime.holder() == holder


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return


def pause_after(last: Pass | None) -> float:
    """Seconds until the next pass, if nothing calls for it sooner. None: the last one failed."""
    if last is None:
        return BUSY_S
    pause = BUSY_S if last.busy else ASKED_S if last.asked else QUIET_S
    return pause if last.due_ms is None else min(pause, max(last.due_ms / 1000, POKED_S))


class Monitor:
    """Passes until the server is gone, a newer monitor asks, or the user turns it off."""

    def __init__(self, target: Target, server_pid: int, runtime: Runtime, lock: MonitorLock, version: str) -> None:
        self.server_pid, self.runtime, self.lock, self.version = server_pid, runtime, lock, version
        self.cycle = Cycle(target.socket, server_pid=server_pid)
        self.poke = runtime.poke_reader()
        self.ring = Ringer(self.cycle.faults)
        self.renewal = Renewal(version, lambda text: runtime.problem("update", text))
        self.stopped = False
        self.poked_until = 0.0
        self.checked = time.monotonic()
        self.server_started = processes.started_of(server_pid)
        self.cycle.recall(runtime.read_memory(int(self.server_started or 0)), only_voices=True)
        self._ticks: dict[int, int] = {}
        self._failures: dict[str, int] = {}  # in a row, by what failed

    def run(self) -> bool:
        """Until it is time to go; true when the code on disk is newer and should take over."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.runtime.announce()
        try:
            last = self._pass()
            # What the first pass made stays for good: later collections need not look through it.
            gc.collect()
            gc.freeze()
            while not self.stopped:
                self.runtime.beat()
                if last is not None and not (last.settings.enabled and last.settings.monitor):
                    if not last.settings.enabled:
                        self._switch_off()
                    break
                if self._between(last):
                    return True
                last = self._pass() if not self.stopped else None
        except ServerGone:
            self.runtime.withdraw()
        finally:
            self.poke.close()
            self.lock.release()
        return False

    def _switch_off(self) -> None:
        """Have everything taken away, unless our hook has seen to it: then we are told to end."""
        until = time.monotonic() + SWITCHED_S
        while not self.stopped and (left := until - time.monotonic()) > 0:
            self.poke.wait(min(left, GLANCE_S))
        if not self.stopped:
            repair.switch_off(self.cycle.runner, self.server_pid)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stopped = True

    def _between(self, last: Pass | None) -> bool:
        """Wait for the next pass; true when the code on disk is newer and should take over."""
        try:
            self._wait(last)
            renewed = self._renewed()
        except ServerGone:
            raise
        except Exception as error:
            self._unforeseen("wait", error)
            return False
        self._unforeseen("wait", None)
        return renewed

    def _pass(self) -> Pass | None:
        try:
            last = self._looked()
        except ServerGone:
            raise
        except Exception as error:
            self._unforeseen("pass", error)
            return None
        self._unforeseen("pass", None)
        return last

    def _unforeseen(self, part: str, error: Exception | None) -> None:
        """Note an error nobody thought of, and rest: every time longer, so that it is never a tight loop."""
        if error is None:
            if self._failures.pop(part, 0):
                self.runtime.problem(part, "")
            return
        self._failures[part] = self._failures.get(part, 0) + 1
        with contextlib.suppress(Exception):
            said = f"a {part} ended in {described(error)}; states stay as they were"
            self.runtime.log(said)
            self.runtime.problem(part, said)
        until = time.monotonic() + min(BUSY_S * 2.0 ** min(self._failures[part] - 1, 8), LONGEST_REST_S)
        # Pokes do not count here: whoever sends the bad input may send them too.
        while not self.stopped and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, GLANCE_S))
            if not self._server_lives():
                raise ServerGone("the server's process ended")

    def _looked(self) -> Pass | None:
        try:
            last = self.cycle.run_pass(self._keep)
        except ServerGone:
            raise
        except TmuxError as error:
            if not self._server_lives():
                raise ServerGone(str(error)) from error
            self.runtime.log(f"tmux: {type(error).__name__}: {error}")
            self.runtime.problem("tmux", f"{type(error).__name__}: {error}")
            return None
        self.runtime.problem("tmux", "")
        note_problems(self.runtime, self.cycle)
        self.ring(last)
        return last

    def _keep(self, data: dict[str, Any]) -> None:
        self.runtime.write_memory(int(self.server_started or 0), data)

    def _server_lives(self) -> bool:
        return processes.alive(self.server_pid, self.server_started)

    def _wait(self, last: Pass | None) -> None:
        """Sleep until the next pass is due, or something says that it should be sooner."""
        now = time.monotonic()
        pause = pause_after(last)
        if now < self.poked_until:
            pause = min(pause, POKED_S)
        until = now + pause
        glance = GLANCE_S if last is None or last.busy or last.asked else QUIET_GLANCE_S
        self._glance_at_processes(last, True)
        while not self.stopped and (left := until - time.monotonic()) > 0:
            if self.poke.wait(min(left, glance)):
                self.poked_until = time.monotonic() + POKE_LASTS_S
                return
            if not self._server_lives():
                raise ServerGone("the server's process ended")
            if last is not None and (self.cycle.record_changed(last) or self._glance_at_processes(last, False)):
                return

    def _glance_at_processes(self, last: Pass | None, first: bool) -> bool:
        """Whether an agent ended, was stopped or continued, or one that was quiet woke up: it used CPU (Linux only)."""
        ticks: dict[int, int] = {}
        noticed = False
        for subject in last.subjects if last else ():
            identity = subject.identity
            if identity is None or identity.pid is None:
                continue
            pulse = processes.pulse(identity.pid)
            if pulse is None or pulse.stopped is not identity.stopped:
                noticed = True
            if pulse is None:
                continue
            ticks[identity.pid] = pulse.ticks
            awake = pulse.ticks - self._ticks.get(identity.pid, pulse.ticks) >= AWAKE_TICKS
            noticed = noticed or (last is not None and not last.busy and awake)
        self._ticks = ticks
        return noticed and not first

    def _renewed(self) -> bool:
        """Whether newer code takes over. Now and then: are the lock, the link for hooks and our hooks still there?"""
        if self.renewal.ready():
            return True
        if time.monotonic() - self.checked < SELF_CHECK_S:
            return False
        self.checked = time.monotonic()
        self.runtime.announce()
        if not self.lock.still_ours():
            self.stopped = True
        try:
            if repair.hooks(self.cycle.runner, self.server_pid):
                self.runtime.log("hooks of ours were gone: loaded again")
        except TmuxError as error:
            self.runtime.log(f"hooks: {type(error).__name__}")
        return False


class Ringer:
    """Fires the alerts a pass has claimed."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.commands = alerts.Commands()

    def __call__(self, last: Pass) -> None:
        """Ring for every pane whose alert this process has claimed in its transaction."""
        self.commands.reap()
        for subject in last.alerts:
            with self.faults.item(f"the alert of pane {subject.row.pane_id}"):
                if "bell" in last.settings.alert:
                    alerts.bell(subject.row.tty)
                if last.settings.alert_command:
                    self.commands.run(last.settings.alert_command, facts(subject))


def facts(subject: Subject) -> Mapping[str, str]:
    """What an alert command is told, as environment variables."""
    verdict = subject.decision.verdict if subject.decision else None
    row = subject.row
    return {
        "AGENT_PANE": row.pane_id,
        "AGENT_NAME": for_program(subject.identity.agent) if subject.identity else "",
        "AGENT_STATE": str(verdict.state) if verdict else "",
        "AGENT_DETAIL": for_program(verdict.detail or "") if verdict else "",
        "AGENT_TEXT": for_program(verdict.text) if verdict else "",
        "AGENT_SESSION": for_program(row.session_name),
        "AGENT_WINDOW": for_program(row.window_name),
        "AGENT_DIR": for_program(row.path),
    }


def note_problems(runtime: Runtime, cycle: Cycle) -> None:
    """Leave for doctor what is wrong with manifests, rules and options."""
    runtime.problem("manifests", "; ".join(cycle.catalog.problems))
    runtime.problem("rules", "; ".join(cycle.guard.problems))
    runtime.problem("options", "; ".join(cycle.settings.problems))
    runtime.problem("input", "; ".join(cycle.faults.problems))
