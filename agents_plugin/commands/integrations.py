"""`agents integrations`: which agents tell what they do, and whether our entries are as they should be."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from agents_plugin.core.text_forms import for_person
from agents_plugin.integrations.status import Status, as_json, overview
from agents_plugin.rows import SCHEMA
from agents_plugin.terminal import columns, emit, emit_json, table

NAME = "integrations"
HELP = "which agents tell what they do"

_CAPS = (16, 14, 4096)


def configure(parser: ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("--json", action="store_true", help='{"schema":1,"integrations":[{agent, state, files, …}]}')


def run(args: Namespace) -> int:
    """One line per agent. Always 0: what it says is the answer."""
    from agents_plugin.manifest_cache import open_cache
    from agents_plugin.manifests import BUNDLED, Catalog, user_directory

    catalog = Catalog((BUNDLED, user_directory()), open_cache(os.environ))
    rows = overview(os.environ, [manifest.id for manifest in catalog.outlines])
    if args.json:
        emit_json({"schema": SCHEMA, "integrations": [as_json(row) for row in rows]})
    else:
        emit(["  ".join(cells) for cells in table([_cells(row) for row in rows], columns(), _CAPS)])
    return 0


def _cells(row: Status) -> tuple[str, str, str]:
    text = row.why or "; ".join(row.notes) or (", ".join(row.files) if row.present else "")
    return row.agent, row.state, for_person(text, 400)
