"""Loaded by the real TPM (Debian's package, unpacked into the cache), as a new server's configuration does it.

TPM itself cannot load from a path with spaces; `run-shell` can, see test_entry.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.loading import copy_plugin, give_python, key, monitor_pid, settle
from tests.support import Server, wait_for

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agents.tmux" / "tpm"


@pytest.fixture(scope="session")
def tpm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TPM's directory; skipped only when the package can be had from nowhere."""
    installed = Path("/usr/share/tmux-plugin-manager")
    for place in (installed, CACHE / "usr/share/tmux-plugin-manager"):
        if (place / "tpm").exists():
            return place
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        pytest.skip("no apt to fetch tmux-plugin-manager with")
    work = tmp_path_factory.mktemp("deb")
    done = subprocess.run(
        ["apt-get", "download", "tmux-plugin-manager"],
        cwd=work,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    packages = list(work.glob("*.deb"))
    if not packages:
        pytest.skip(f"tmux-plugin-manager cannot be fetched: {done.stderr.strip()[-200:]}")
    unpacked = work / "unpacked"
    subprocess.run(["dpkg", "-x", packages[0], unpacked], check=True, timeout=60)
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(unpacked, CACHE, dirs_exist_ok=True)
    return CACHE / "usr/share/tmux-plugin-manager"


@pytest.mark.parametrize(
    ("plugins", "path"),
    [
        pytest.param(".tmux/plugins", "", id="usual"),
        pytest.param(".config/tmux/plugins", "HOME/.config/tmux/plugins/", id="case-185-xdg"),
        pytest.param("p", "HOME/p", id="case-185-path"),
        pytest.param("p", "~/p/", id="case-185-tilde"),
    ],
)
@pytest.mark.versions
def test_tpm_loads_it(plugins: str, path: str, bare_server: Server, tpm: Path, tmp_path: Path) -> None:
    """A new server whose configuration runs TPM: everything is there before anybody attaches."""
    place = tmp_path / "base" / "home"
    server = bare_server
    server.env |= {"HOME": str(place)}
    if path:
        server.env["TMUX_PLUGIN_MANAGER_PATH"] = path.replace("HOME", str(place))
    directory = place / plugins
    directory.mkdir(parents=True)
    shutil.copytree(tpm, directory / "tpm", symlinks=False)
    copy_plugin(directory / "agents.tmux")
    # A plugin that is loaded after ours and takes a key and the status line.
    later = directory / "zz-later"
    later.mkdir()
    (later / "later.tmux").write_text("#!/bin/sh\nsleep 1\ntmux bind-key J display-message theirs\n")
    (later / "later.tmux").chmod(0o755)
    give_python(server)
    config = place / ".tmux.conf"
    config.write_text(
        "set -g @plugin 'tmux-plugins/tpm'\n"
        "set -g @plugin 'someone/agents.tmux'\n"
        "set -g @plugin 'someone/zz-later'\n"
        "set -g status-right '#{agents_status} %H:%M'\n"
        f"run '\"{directory}/tpm/tpm\"'\n"
    )
    server.config = str(config)
    server.start()
    assert server.global_option("status-right") == "#{@agents_status}#(#{AGENTS_DRIVE}) %H:%M"
    settle(server)
    wait_for(lambda: monitor_pid(server), what="monitor")
    assert str(directory / "agents.tmux") in server.hidden()["AGENTS_DRIVE"]
    wait_for(lambda: key(server, "j") == "run-shell -C agents-jump")
    assert key(server, "J") == "display-message theirs"
