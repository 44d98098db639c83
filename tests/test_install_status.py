"""How it stands with each agent: what is found in its files, and what doctor says."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from agents_plugin.__main__ import main
from agents_plugin.doctor.finding import Level
from agents_plugin.events import Intake
from agents_plugin.host import heard
from agents_plugin.host.spool import Spool
from agents_plugin.integrations import wrapper
from agents_plugin.integrations.agents import AGENTS
from agents_plugin.integrations.status import Status, diagnose, findings, status
from agents_plugin.integrations.work import follow_the_plugin, wired
from agents_plugin.manifests import BUNDLED, load
from tests.installing import DEFAULTS, empty_home, put

NOW = 1_800_000_000.0
GOOD = Status("claude", "installed", True, ("/h/settings.json",), heard=NOW - 300, written=NOW - 9000)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return empty_home(tmp_path, monkeypatch)


def said(row: Status, *missing: str) -> list[tuple[str, str]]:
    return [(finding.level.value, finding.text) for finding in findings([row], NOW, missing)]


@pytest.mark.parametrize(
    "row, level, text",
    [
        (GOOD, "ok", "last heard from 5 min ago"),
        (replace(GOOD, heard=NOW + 60), "ok", "last heard from 0 s ago"),
        (replace(GOOD, state="not installed"), "ok", "agents install claude"),
        (replace(GOOD, state="out of date", why="X is gone"), "warn", "X is gone; run agents install claude"),
        (replace(GOOD, state="cannot read", why="/f: line 3: no"), "warn", "cannot read /f: line 3: no"),
        (replace(GOOD, heard=None), "warn", "never heard from: sessions that were running before"),
        (replace(GOOD, heard=NOW - 9900), "warn", "not heard from since"),
        pytest.param(replace(GOOD, agent="codex", heard=None), "warn", "(/hooks)", id="case-142-codex-trust"),
        (replace(GOOD, agent="pi", heard=None), "warn", "/reload"),
        (replace(GOOD, doubled=("herdr hook",)), "warn", "another tool's hook reports to tmux too: herdr hook"),
        (replace(GOOD, notes=("all hooks are turned off by disableAllHooks",)), "problem", "turned off"),
    ],
)
def test_what_doctor_says(row: Status, level: str, text: str) -> None:
    assert any(found == level and text in line for found, line in said(row)), said(row)


def test_doctor_is_silent_about_agents_that_are_not_here() -> None:
    assert said(Status("aider", "no integration")) == []
    assert said(Status("qwen", "not installed", present=False)) == []


def test_tmux_pane_that_is_missing_is_told() -> None:
    assert not any("TMUX_PANE" in line for _, line in said(GOOD))
    assert any(level == "warn" and "TMUX_PANE" in line for level, line in said(GOOD, "claude"))


def test_tmux_pane_is_missed_in_real_events(home: Path) -> None:
    assert main(["install", "claude", "--yes"]) == 0
    hook = str(wrapper.path(os.environ))
    around = {**os.environ, "TMUX": "/none,1,0"}
    for variables in ({"TMUX_PANE": "%1"}, {}):
        assert not any("TMUX_PANE" in finding.text for finding in diagnose(os.environ))
        os.spawnve(os.P_WAIT, hook, [hook, "claude", "Stop", "{}"], {**around, **variables})
    assert any("claude: its events come without TMUX_PANE" in finding.text for finding in diagnose(os.environ))


def test_an_event_that_is_taken_is_remembered(home: Path) -> None:
    assert main(["install", "claude", "--yes"]) == 0
    assert status(AGENTS["claude"], os.environ).heard is None
    hook = str(wrapper.path(os.environ))
    os.spawnve(os.P_WAIT, hook, [hook, "claude", "Stop", "{}"], {"HOME": str(home), "PATH": "/usr/bin:/bin"})
    spool = home / ".local/state/agents.tmux/spool"
    intake = Intake(spool)
    intake._heard = Spool(spool).pending(int(time.time() * 1000))
    assert len(intake._heard) == 1
    intake.finish()
    assert list(spool.iterdir()) == []
    at = status(AGENTS["claude"], os.environ).heard
    assert at is not None and abs(at - time.time()) < 60
    assert heard.last(home / ".local/state/agents.tmux/heard", "codex") is None


def test_marks_are_of_agents_only(tmp_path: Path) -> None:
    place = tmp_path / "heard"
    heard.mark(place, ["claude", "../x", "", "A b"])
    assert [path.name for path in place.iterdir()] == ["claude"]
    heard.mark(None, ["claude"])
    heard.mark(tmp_path / "no/where", ["claude"])
    before = (place / "claude").stat().st_mtime_ns
    heard.mark(place, ["claude"])
    assert (place / "claude").stat().st_mtime_ns == before, "written at most once a minute"
    os.utime(place / "claude", (1, 1))
    heard.mark(place, ["claude"])
    assert (place / "claude").stat().st_mtime > 1


@pytest.mark.parametrize(
    "ident, switch",
    [
        ("claude", {"disableAllHooks": True}),
        ("qwen", {"disableAllHooks": True}),
        ("gemini", {"hooksConfig": {"enabled": False}}),
    ],
)
def test_hooks_that_are_turned_off_are_told(ident: str, switch: dict[str, object], home: Path) -> None:
    path = put(home / DEFAULTS[ident], json.dumps(switch))
    assert main(["install", ident, "--yes"]) == 0
    found = [finding for finding in diagnose(os.environ) if "turned off" in finding.text]
    assert [finding.level for finding in found] == [Level.PROBLEM]
    path.write_text(path.read_text().replace("true", "false").replace('"enabled": false', '"enabled": true'))
    assert not any("turned off" in finding.text for finding in diagnose(os.environ))


def test_another_tools_hooks_are_told(home: Path) -> None:
    hooks = {
        "Stop": [{"hooks": [{"type": "command", "command": "tmux set -p @agent_state idle"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "/opt/herdr/hook.sh"}]}],
        "Notification": [{"hooks": [{"type": "command", "command": "notify-send hello"}]}],
    }
    put(home / DEFAULTS["claude"], json.dumps({"hooks": hooks}))
    assert main(["install", "claude", "--yes"]) == 0
    told = [finding.text for finding in diagnose(os.environ) if "another tool" in finding.text]
    assert len(told) == 2 and "@agent_state" in told[0] and "herdr" in told[1]


def test_case_142_trust_of_codex(home: Path) -> None:
    assert main(["install", "codex", "--yes"]) == 0
    config = home / ".codex/config.toml"
    assert any("does not trust" in finding.text for finding in diagnose(os.environ))
    trust = f'[hooks.state."{home}/.codex/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:0"\n'
    config.write_text(config.read_text() + trust)
    assert not any("does not trust" in finding.text for finding in diagnose(os.environ))
    assert main(["install", "--remove", "codex", "--yes"]) == 0
    assert config.read_text() == trust


def test_codex_with_a_notify_of_its_own_is_installed_all_the_same(home: Path) -> None:
    config = put(home / ".codex/config.toml", 'notify = ["mine"]\n')
    assert main(["install", "codex", "--yes"]) == 0
    assert config.read_text() == 'notify = ["mine"]\n'
    row = status(AGENTS["codex"], os.environ)
    assert row.state == "installed"
    assert any("notify is yours" in note for note in row.notes)


@pytest.mark.parametrize("ident", [agent.id for agent in AGENTS.values() if agent.events])
def test_wired_events_are_those_the_manifest_gives_a_meaning(ident: str) -> None:
    hooks = load(BUNDLED / f"{ident}.yaml").hooks
    assert hooks is not None
    meant = {name for rule in hooks.events if not rule.ignore for name in rule.on}
    events = wired(AGENTS[ident])
    assert events and set(events) <= meant
    blocking = {name for rule in hooks.events if rule.state and rule.state.value == "blocked" for name in rule.on}
    assert blocking & set(events), "something tells that it waits"


#: They answer with a decision, run per token, or must print something.
POISON = {
    "claude": {"WorktreeCreate", "MessageDisplay", "PreSkillShellCommand", "Elicitation", "PermissionDenied"},
    "gemini": {"BeforeModel", "AfterModel", "BeforeToolSelection", "PreCompress"},
    "qwen": {"MessageDisplay", "PermissionDenied"},
    "copilot": {"permissionRequest", "userPromptTransformed", "preMcpToolCall"},
    "codex": {"Notification"},
}


@pytest.mark.parametrize("ident, names", POISON.items(), ids=POISON.keys())
def test_case_140_what_decides_or_slows_down_is_never_wired(ident: str, names: set[str], home: Path) -> None:
    assert not names & set(AGENTS[ident].events)
    assert main(["install", ident, "--yes"]) == 0
    assert not names & set(json.loads((home / DEFAULTS[ident]).read_text())["hooks"])


def test_case_139_a_plugin_that_was_moved_is_found_again(home: Path) -> None:
    place = wrapper.path(os.environ)
    follow_the_plugin(os.environ)
    assert not place.exists(), "made by install only"
    assert main(["install", "claude", "--yes"]) == 0
    good = place.read_text()
    other = put(home / "other/agents.tmux/scripts/agent-hook", "#!/bin/sh\n", 0o755)
    place.write_text(wrapper.text(other.parent.parent))
    follow_the_plugin(os.environ)
    assert wrapper.target(place.read_text()) == other, "one that is there stays"
    other.unlink()
    follow_the_plugin(os.environ)
    assert place.read_text() == good


def test_plugin_home_is_not_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Main:
        __file__ = "/nix/profile/agents.tmux/agents_plugin/__main__.py"

    monkeypatch.setitem(__import__("sys").modules, "__main__", Main)
    assert wrapper.plugin_home() == Path("/nix/profile/agents.tmux")
    assert wrapper.target(wrapper.text(Path("/it's a/plugin"))) == Path("/it's a/plugin/scripts/agent-hook")
    assert wrapper.target("#!/bin/sh\n") is None


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("tmux set -p @agent_state blocked", True),
        ("tma hook stop", True),
        ("npx tmux-ide notify", True),
        ("/usr/bin/tuios hook", True),
        ("herdr hook", True),
        ("prettier --write .", False),
        ("say enigma tuiosity", False),
    ],
)
def test_other_hooks_that_report_to_tmux_are_named(tmp_path: Path, command: str, named: bool) -> None:
    (tmp_path / ".claude").mkdir()
    entry = {"hooks": [{"type": "command", "command": command}]}
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"Stop": [entry]}}))
    assert status(AGENTS["claude"], {"HOME": str(tmp_path)}).doubled == ((command,) if named else ())
