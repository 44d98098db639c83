"""`agents jump`: go to the agent that needs you, as the jump key does."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from agents_plugin import server
from agents_plugin.core.evidence import ClientRow, PaneRow, Snapshot
from agents_plugin.core.text_forms import for_person
from agents_plugin.reach import Refused, guarded, runner_of
from agents_plugin.terminal import emit
from agents_plugin.tmux.contract import QUEUE, quote
from agents_plugin.tmux.listing import observe
from agents_plugin.tmux.rollup import COMMAND
from agents_plugin.tmux.runner import Runner, TmuxError, is_pane_id

NAME = "jump"
HELP = "go to the agent that needs you"


def configure(parser: ArgumentParser) -> None:
    """Adds the options."""
    server.configure(parser)
    parser.add_argument("-c", dest="client", metavar="CLIENT", help="which client (default: the one you sit at)")


def run(args: Namespace) -> int:
    """Moves the client and says where to. 0 also when nobody waits; 1 without a client, plugin or server."""
    return guarded(NAME, args, lambda found: _run(args, found))


def _run(args: Namespace, found: server.Target) -> int:
    runner = runner_of(found)
    before = observe(runner)
    client = _client(args.client, found, before)
    if _first_choice(client, before):
        # A tmux process that claims to run in a pane acts for the client that used the pane's session last.
        runner.environment["TMUX_PANE"] = client.pane_id
        try:
            runner.check("agents-jump")
        except TmuxError as error:
            if "unknown command" in str(error):
                raise Refused("the plugin is not loaded in this tmux server") from error
            raise
        finally:
            runner.environment.pop("TMUX_PANE", None)
    else:
        _jump_for(runner, client, before)
    after = next((other for other in observe(runner).clients if other.name == client.name), client)
    if after.pane_id == client.pane_id:
        emit(["no other agent waits for you"])
        return 0
    row = next((row for row in before.panes if row.pane_id == after.pane_id), None)
    emit([f"{after.pane_id} {_place(row)}" if row else after.pane_id])
    return 0


def _client(name: str | None, found: server.Target, snapshot: Snapshot) -> ClientRow:
    """The client that was named, or the one whose user has most likely asked."""
    people = [client for client in snapshot.clients if not client.control]
    if name is not None:
        named = next((client for client in snapshot.clients if client.name == name), None)
        if named is None:
            raise Refused(f"no client {for_person(name, 60)} is attached")
        return named
    if not people:
        raise Refused("no client is attached")
    around, pane = server.surrounding(), os.environ.get("TMUX_PANE", "")
    here = around is not None and around.socket == found.socket
    session = next((row.session_id for row in snapshot.panes if here and row.pane_id == pane), "")
    if here and not session:
        session = "$" + os.environ.get("TMUX", "").rpartition(",")[2]  # a job of tmux knows its session only
    return max(people, key=lambda client: (client.session_id == session, client.activity))


def _first_choice(client: ClientRow, snapshot: Snapshot) -> bool:
    """Whether tmux itself would choose this client for its session."""
    rivals = [other for other in snapshot.clients if other.session_id == client.session_id and other != client]
    shared = [row for row in snapshot.panes if row.pane_id == client.pane_id and row.session_id != client.session_id]
    return not shared and all(other.activity < client.activity for other in rivals)


def _jump_for(runner: Runner, client: ClientRow, snapshot: Snapshot) -> None:
    """The jump for a client that tmux would not choose: the next of the queue after the pane it shows."""
    queue = [pane for pane in snapshot.globals.get(QUEUE, "").split() if is_pane_id(pane)]
    if client.pane_id in queue:
        place = queue.index(client.pane_id)
        queue = queue[place + 1 :] + queue[:place]
    if not queue:
        return
    pane = queue[0]
    # In its own session, when the pane's window is linked there: tmux would choose the session that was used last.
    rows = runner.check("list-panes", "-s", "-t", f"{client.session_id}:", "-F", "#{pane_id} #{window_id}")
    own = dict(row.split() for row in rows.splitlines()).get(pane)
    where = f"{client.session_id}:{own}.{pane}" if own else pane
    seen = f"if-shell -F -t {pane} '#{{@agent_attention}}' {{ set-option -pqu -t {pane} @agent_attention }}\n"
    runner.source(f"switch-client -Z -c {quote(client.name)} -t {quote(where)}\n{seen}{COMMAND}\n")


def _place(row: PaneRow) -> str:
    state, detail = row.options.get("@agent_state", ""), row.options.get("@agent_detail", "")
    shown = f"{state}/{detail}" if detail else state
    agent = row.options.get("@agent_name", "agent")
    return for_person(
        f"{row.session_name}:{row.window_index}.{row.pane_index} {row.window_name}: {agent}, {shown}", 200
    )
