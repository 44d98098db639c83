"""The spool's reading side, and where events come from: real hooks in real panes (prototype of spool identity)."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from agents_plugin.core.identity import pane_of_event
from agents_plugin.host import processes, spool
from agents_plugin.host.spool import END, MAGIC, Event, Spool
from tests.support import ROOT, Server, TmuxBinary, wait_for

HOOK = ROOT / "scripts" / "agent-hook"
STAT = b"11 (a b) (c) S 10 11 10 34816 11 4194304 1 0 0 0 0 0 0 0 20 0 1 0 4242 5599232 770 1 2\n"


def now() -> int:
    return time.time_ns() // 1_000_000


def put(
    directory: Path, name: str, body: bytes = b"{}", head: bytes = b"agent=claude\nevent=Stop\n", end: bytes = END
) -> Path:
    path = directory / name
    path.write_bytes(MAGIC + head + b"\n" + body + end)
    return path


def test_a_finished_file_is_an_event(tmp_path: Path) -> None:
    head = b"agent=claude\nevent=Stop\nparent=11\nenv.TMUX=/tmp/x,1,2\nenv.TMUX_PANE=%3\nenv.CLAUDE_PID=77\n"
    put(tmp_path, "9.0", STAT + b'{"a":"=\n\n"}', head)
    (event,) = Spool(tmp_path).pending(now())
    assert (event.agent, event.event, event.payload, event.truncated) == ("claude", "Stop", '{"a":"=\n\n"}', False)
    assert event.variables == {"TMUX": "/tmp/x,1,2", "TMUX_PANE": "%3", "CLAUDE_PID": "77"}
    assert event.ancestors == ((11, processes.from_ticks("4242")), (10, None), (77, None))
    assert abs(event.at_ms - now()) < 60_000


def test_two_stat_lines_give_three_ancestors(tmp_path: Path) -> None:
    put(tmp_path, "9.0", STAT + STAT.replace(b"11 (a b) (c) S 10", b"10 (sh) S 9") + b"{}")
    (event,) = Spool(tmp_path).pending(now())
    assert [pid for pid, _ in event.ancestors] == [11, 10, 9] and event.payload == "{}"


@pytest.mark.parametrize("name", [b"claude", b"node", b"MainThread"])
def test_nobody_above_the_agent_speaks_for_it(tmp_path: Path, name: bytes) -> None:
    """It may have ended: then what started it must not be taken for it (case 79)."""
    head = b"agent=claude\nevent=Stop\nenv.CLAUDE_PID=77\n"
    put(tmp_path, "9.0", STAT + STAT.replace(b"11 (a b) (c) S 10", b"10 (%s) S 9" % name) + b"{}", head)
    (event,) = Spool(tmp_path).pending(now())
    assert [pid for pid, _ in event.ancestors] == [11, 10] and event.payload == "{}"


def test_ancestors_without_proc(tmp_path: Path) -> None:
    put(tmp_path, "9.0", head=b"agent=pi\nparent=11\ngrandparent=1\n")
    (event,) = Spool(tmp_path).pending(now())
    assert event.ancestors == ((11, None),)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="empty"),
        pytest.param(MAGIC, id="magic"),
        pytest.param(MAGIC + b"agent=claude\n\n{}", id="no-end"),
        pytest.param(MAGIC + b"agent=claude\n\n{}" + END[:-1], id="cut-in-the-end"),
        pytest.param(MAGIC + b"event=Stop\n\n{}" + END, id="no-agent"),
        pytest.param(MAGIC + b"agent=claude" + END, id="no-payload-line"),
        pytest.param(b"agents.tmux 2\nagent=claude\n\n{}" + END, id="newer-format"),
        pytest.param(MAGIC + b"agent=claude\n" + b"x=" + b"y" * 100_000 + b"\n\n{}" + END, id="huge-header"),
        pytest.param(b"\x00\xff" * 50, id="garbage"),
    ],
)
def test_unfinished_and_foreign_files_are_left_alone(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "9.0").write_bytes(raw)
    reader = Spool(tmp_path)
    assert reader.pending(now()) == [] == reader.pending(now())
    assert (tmp_path / "9.0").read_bytes() == raw


def test_a_file_that_gets_finished_is_seen(tmp_path: Path) -> None:
    path = put(tmp_path, "9.0", end=b"")
    reader = Spool(tmp_path)
    assert reader.pending(now()) == []
    with path.open("ab") as stream:
        stream.write(END)
    (event,) = reader.pending(now())
    assert event.payload == "{}"


@pytest.mark.parametrize("body", [b"\xff\xfe{", b"", b"{" * 10, b"null", b"\x00" * 10, END * 2])
def test_any_payload_passes(body: bytes, tmp_path: Path) -> None:
    put(tmp_path, "9.0", body)
    (event,) = Spool(tmp_path).pending(now())
    assert event.payload == body.decode("utf-8", "replace")


def test_events_come_in_order_of_time_then_name(tmp_path: Path) -> None:
    base = now() * 1_000_000
    for name, offset in (("3.0", 8), ("1.0", 20), ("2.1", 8)):
        path = put(tmp_path, name)
        os.utime(path, ns=(base, base + offset * 1_000_000 - 1_000_000_000))
    assert [event.path.name for event in Spool(tmp_path).pending(now())] == ["2.1", "3.0", "1.0"]


def test_bash_tells_the_exact_time(tmp_path: Path) -> None:
    put(tmp_path, "9.0", head=b"agent=claude\ntime=1712345678.123456\n")
    (event,) = Spool(tmp_path).pending(now())
    assert event.at_ms == 1712345678123


@pytest.mark.parametrize("value", [b"x", b"inf", b"nan", b"", b"1e999"])
def test_odd_times_fall_back_to_the_files(value: bytes, tmp_path: Path) -> None:
    put(tmp_path, "8.0", head=b"agent=claude\ntime=" + value + b"\n")
    put(tmp_path, "9.0", head=b"agent=claude\nuptime=" + value + b"\n")
    for event in Spool(tmp_path).pending(now()):
        assert abs(event.at_ms - now()) < 60_000


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="needs the boot clock")
def test_case_178_a_clock_that_was_set_does_not_move_an_event(tmp_path: Path) -> None:
    up = time.clock_gettime(time.CLOCK_BOOTTIME) - 30
    path = put(tmp_path, "9.0", head=f"agent=claude\nuptime={up:.2f}\n".encode())
    os.utime(path, (time.time() - 300, time.time() - 300))
    (event,) = Spool(tmp_path).pending(now())
    assert abs(event.at_ms - (now() - 30_000)) < 5_000


def test_expiry(tmp_path: Path) -> None:
    for name, age in (("1.0", 0), ("2.0", 599), ("3.0", 601), ("4.0", -3600), ("5.0", -100_000)):
        os.utime(put(tmp_path, name), (time.time() - age, time.time() - age))
    unfinished = put(tmp_path, "6.0", end=b"")
    os.utime(unfinished, (0, 0))
    assert sorted(event.path.name for event in Spool(tmp_path).pending(now())) == ["1.0", "2.0", "4.0"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.0", "2.0", "4.0"]


def test_links_directories_and_fifos_are_not_read(tmp_path: Path) -> None:
    outside = put(tmp_path, "outside")
    directory = tmp_path / "spool"
    directory.mkdir()
    (directory / "1.0").symlink_to(outside)
    (directory / "2.0").mkdir()
    os.mkfifo(directory / "3.0")
    put(directory, ".hidden")
    assert Spool(directory).pending(now()) == []
    (tmp_path / "link").symlink_to(directory)
    put(directory, "4.0")
    assert Spool(tmp_path / "link").pending(now()) == []
    assert Spool(None).pending(now()) == [] == Spool(tmp_path / "none").pending(now())


def test_one_taker_gets_an_event(tmp_path: Path) -> None:
    put(tmp_path, "9.0")
    first, second = Spool(tmp_path), Spool(tmp_path)
    (event,) = first.pending(now())
    (same,) = second.pending(now())
    assert [first.take(event), second.take(same), first.take(event)] == [True, False, False]
    assert first.pending(now()) == [] == second.pending(now())


def test_quiet_passes_open_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "1.0")
    put(tmp_path, "2.0", end=b"")
    reader = Spool(tmp_path)
    reader.pending(now())
    monkeypatch.setattr(spool, "read", lambda path: pytest.fail(f"read {path} again"))
    assert len(reader.pending(now())) == 1


# --- where an event comes from -------------------------------------------------------------------------------------

AGENT = """#!/bin/sh
# Stands in for an agent: fires one hook in the given way and stays.
{strip}
{call}
: >"$1"
exec sleep 300
"""

WAYS = {
    "direct": "printf '{{}}' | {hook} claude {event}",
    "sh-c": "printf '{{}}' | sh -c '[ -x {hook} ] && {hook} claude {event} || :'",
    "sh-c-exec": "printf '{{}}' | sh -c '{hook} claude {event}'",
    "dash": "printf '{{}}' | dash -c 'cd / && {hook} claude {event}; :'",
    "bash": "printf '{{}}' | bash -c 'cd / && {hook} claude {event}; :'",
    "bash-runs-it": "printf '{{}}' | bash {hook} claude {event}",
    "timeout": "printf '{{}}' | timeout 20 {hook} claude {event}",
    "argument": "{hook} claude {event} '{{}}' </dev/null",
}
STRIPS = {
    "case-073-no-TMUX_PANE": "unset TMUX_PANE",
    "wrong-TMUX_PANE": "export TMUX_PANE=%0",
    "case-077-no-TMUX": "unset TMUX TMUX_PANE XDG_RUNTIME_DIR",
    "inherited": ":",
}


def fire(server: Server, tmp_path: Path, name: str, way: str, strip: str) -> str:
    """Start a stand-in in a new window of one shared directory; returns the pane once its hook has run."""
    script, done = tmp_path / f"agent-{name}", tmp_path / f"done-{name}"
    call = WAYS[way].format(hook=shlex.quote(str(HOOK)), event=name)
    script.write_text(AGENT.format(strip=STRIPS[strip], call=call))
    pane = server.window(f"exec sh {script} {done}")
    wait_for(done.exists, what=f"hook of {name}")
    return pane


def origins(server: Server, events: list[Event]) -> dict[str, str | None]:
    """Event name to the pane of this server that it provably comes from."""
    rows = [row.split() for row in server.cmd("list-panes", "-a", "-F", "#{pane_pid} #{pane_id}").splitlines()]
    panes = {int(pid): pane for pid, pane in rows}
    table = processes.sweep()
    found = {event.event: pane_of_event(event.ancestors, event.at_ms, table, panes) for event in events}
    return {name: origin[0] if origin else None for name, origin in found.items()}


def pending(server: Server) -> list[Event]:
    return Spool(spool.spool_dir(server.env)).pending(now())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("strip", STRIPS)
def test_an_event_proves_its_pane(way: str, strip: str, server: Server, tmp_path: Path) -> None:
    # case 74, 91: both panes share a directory, nothing but ancestry tells them apart
    first = fire(server, tmp_path, "First", way, strip)
    second = fire(server, tmp_path, "Second", way, strip)
    assert origins(server, pending(server)) == {"First": first, "Second": second}


def test_case_158_two_servers_share_one_spool(bare_server: Server, tmux_bin: TmuxBinary, tmp_path: Path) -> None:
    bare_server.start()
    (tmp_path / "two").mkdir()
    other = Server(tmux_bin, tmp_path / "two", "other")
    other.env["HOME"] = bare_server.env["HOME"]
    try:
        other.start()
        here = fire(bare_server, tmp_path, "Here", "sh-c", "wrong-TMUX_PANE")
        there = fire(other, tmp_path, "There", "sh-c", "wrong-TMUX_PANE")
        events = pending(bare_server)
        assert origins(bare_server, events) == {"Here": here, "There": None}
        assert origins(other, events) == {"Here": None, "There": there}
    finally:
        other.kill()


def test_case_075_an_event_from_no_pane_belongs_to_none(server: Server, tmp_path: Path) -> None:
    pane = server.window("exec sleep 300")
    script = tmp_path / "outside"
    script.write_text(
        f"cd {tmp_path}; export TMUX_PANE={pane}; printf '{{}}' | {shlex.quote(str(HOOK))} claude Stop\nsleep 60\n"
    )

    process = subprocess.Popen(["sh", str(script)], env={**server.env, **server.inside(pane)})
    try:
        wait_for(lambda: pending(server))
        assert origins(server, pending(server)) == {"Stop": None}
    finally:
        process.kill()
        process.wait()


def test_an_event_of_a_pane_that_is_gone_belongs_to_none(server: Server, tmp_path: Path) -> None:
    pane = fire(server, tmp_path, "Gone", "sh-c", "inherited")
    pid = int(server.format(pane, "#{pane_pid}"))
    server.cmd("kill-pane", "-t", pane)
    wait_for(lambda: not processes.alive(pid, None))
    assert origins(server, pending(server)) == {"Gone": None}
