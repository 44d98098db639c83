"""Entries in JSON files: what is written, to the byte, and that taking it out gives the bytes of before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_plugin.integrations.agents import AGENTS
from agents_plugin.integrations.hooksjson import HooksJson
from agents_plugin.integrations.jsontext import TextError, parse
from agents_plugin.integrations.wrapper import command, is_ours

HOOK = Path("/h/agents.tmux/bin/agent-hook")
SHORT = f"[ ! -x {HOOK} ] || exec {HOOK} claude Stop"
SMALL = HooksJson("claude", {"Stop": {"hooks": [{"type": "command", "command": SHORT}]}}, comments=True)
FORMS = {
    ident: AGENTS[ident].parts({"HOME": "/h"}, HOOK)[0].format
    for ident in ("claude", "codex", "gemini", "qwen", "copilot")
}


def form(ident: str) -> HooksJson:
    found = FORMS[ident]
    assert isinstance(found, HooksJson)
    return found


GOLDEN = {
    "missing": (
        None,
        '{\n  "hooks": {\n    "Stop": [\n      {\n        "hooks": [\n          {\n            "type": "command",\n'
        f'            "command": "{SHORT}"\n' + "          }\n        ]\n      }\n    ]\n  }\n}\n",
    ),
    "tabs, no newline at the end": (
        '{\n\t"a": 1\n}',
        (
            '{\n\t"a": 1,\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{\n\t\t\t\t"hooks": [\n\t\t\t\t\t{\n'
            f'\t\t\t\t\t\t"type": "command",\n\t\t\t\t\t\t"command": "{SHORT}"\n'
            "\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t}\n}"
        ),
    ),
    "one line": (
        '{"a":1,"b":[2]}\n',
        f'{{"a":1,"b":[2],"hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":"{SHORT}"}}]}}]}}}}\n',
    ),
    "the user's own, same event": (
        (
            '{\n    "hooks": {\n        "Stop": [\n            {\n                "hooks": [\n'
            '                    {"type": "command", "command": "say done"}\n                ]\n            }\n'
            "        ]\n    }\n}\n"
        ),
        (
            '{\n    "hooks": {\n        "Stop": [\n            {\n                "hooks": [\n'
            '                    {"type": "command", "command": "say done"}\n                ]\n            },\n'
            '            {\n                "hooks": [\n                    {\n'
            '                        "type": "command",\n'
            f'                        "command": "{SHORT}"\n                    }}\n                ]\n            }}\n'
            "        ]\n    }\n}\n"
        ),
    ),
    "a comment behind the last": (
        '{\n  // mine\n  "a": 1 // last\n  /* end */\n}\n',
        (
            '{\n  // mine\n  "a": 1, // last\n  /* end */\n  "hooks": {\n    "Stop": [\n      {\n        "hooks": [\n'
            f'          {{\n            "type": "command",\n            "command": "{SHORT}"\n'
            "          }\n        ]\n      }\n    ]\n  }\n}\n"
        ),
    ),
}


@pytest.mark.parametrize("before, after", GOLDEN.values(), ids=GOLDEN.keys())
def test_what_is_written(before: str | None, after: str) -> None:
    assert SMALL.install(before, before) == after
    assert SMALL.install(after, before) == after, "twice changes nothing"
    assert SMALL.remove(after, before) == before
    assert SMALL.remove(after, None) == before, "also when the backup is gone"


DOCUMENTS = {
    "nothing in it": "{}",
    "blank": "{ }\n",
    "two lines": "{\n}\n",
    "empty file": "",
    "only blanks": " \n\n",
    "byte order mark": '\ufeff{\n  "a": 1\n}\n',
    "crlf": '{\r\n  "a": 1,\r\n  "hooks": {\r\n    "Other": []\r\n  }\r\n}\r\n',
    "tabs": '{\n\t"a": {\n\t\t"b": []\n\t}\n}\n',
    "four blanks": '{\n    "z": 1,\n    "a": 2\n}',
    "empty hooks": '{"hooks": {}, "x": 1}',
    "empty hooks over lines": '{\n  "hooks": {\n  },\n  "x": 1\n}\n',
    "empty lists": '{\n  "hooks": {\n    "Stop": [],\n    "sessionStart": [ ]\n  }\n}\n',
    "inline hooks": '{\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}]}]},\n  "x": 1\n}\n',
    "odd blanks": '{ "a" :1 ,\n\n "hooks"\n:\n{ "Stop":\n[ ] } }  \n\n',
    "60 keys": json.dumps({f"key{i}": [i, {"n": None, "t": "ü\u2028\\ud83d"}] for i in range(60)}, indent=2),
    "case-135 16 keys and 49 hooks": json.dumps(
        {
            **{f"k{i}": {"v": i} for i in range(15)},
            "hooks": {
                event: [{"matcher": "Bash", "hooks": [{"type": "command", "command": f"run {n}"} for n in range(7)]}]
                for event in ("Stop", "PreToolUse", "PostToolUse", "Notification", "SessionStart", "Custom", "Last")
            },
        },
        indent=4,
        ensure_ascii=False,
    ),
}


@pytest.mark.parametrize("ident", FORMS)
@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_install_install_remove_gives_the_same_bytes(ident: str, text: str) -> None:
    once = form(ident).install(text, text)
    assert once != text
    assert form(ident).has_ours(once)
    assert form(ident).install(once, text) == once
    assert form(ident).remove(once, text) == text
    said = commands(once, ident)
    assert len(said) == len(form(ident).wanted)


@pytest.mark.parametrize("ident", FORMS)
def test_case_135_everything_else_stays_in_its_order(ident: str) -> None:
    text = DOCUMENTS["case-135 16 keys and 49 hooks"]
    once = form(ident).install(text, text)
    before, after = (list(json.loads(shown).items()) for shown in (text, once))
    assert [key for key, _ in after[: len(before)]] == [key for key, _ in before]
    for event, groups in dict(before)["hooks"].items():
        assert dict(after)["hooks"][event][: len(groups)] == groups
    lines = [line for line in text.splitlines() if line.strip() not in ("]", "}", "},", "],")]
    assert all(line in once or line + "," in once for line in lines), "indentation of what was there"


UNREADABLE = {
    "case-134 trailing comma": ('{\n  "a": 1,\n}', 3),
    "case-134 trailing comma in a list": ('{"a": [1, ]}', 1),
    "case-134 a list on top": ("[]", 1),
    "case-134 a word": ("null", 1),
    "cut off": ('{\n  "a": {\n    "b": "c', 3),
    "cut off between": ('{\n  "a": 1', 2),
    "two values": ("{} {}", 1),
    "a key twice": ('{\n  "a": 1,\n  "a": 2\n}', 3),
    "a key twice, escaped": ('{"hooks": {}, "h\\u006foks": {}}', 1),
    "a key twice, deep": ('{\n  "x": [{"a": 1, "a": 1}]\n}', 2),
    "single quotes": ("{'a': 1}", 1),
    "no number": ('{"a": 01}', 1),
    "not a number": ('{"a": NaN}', 1),
    "raw newline in a text": ('{"a": "b\nc"}', 1),
    "hooks is a list": ('{\n  "hooks": []\n}', 2),
    "hooks is null": ('{\n  "hooks": null\n}', 2),
    "nested without end": ('{"a": ' + "[" * 5000, 1),
}


@pytest.mark.parametrize("ident", FORMS)
@pytest.mark.parametrize("text, line", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_is_refused_with_its_line(ident: str, text: str, line: int) -> None:
    for act in (form(ident).install, form(ident).remove):
        with pytest.raises(TextError) as caught:
            act(text, None)
        assert caught.value.line == line


def test_an_event_that_is_no_list_is_refused() -> None:
    with pytest.raises(TextError, match=r"line 3.*hooks\.Stop"):
        SMALL.install('{\n  "hooks": {\n    "Stop": {}\n  }\n}', None)


@pytest.mark.parametrize("ident, reads", [("claude", False), ("codex", False), ("gemini", True), ("qwen", True)])
def test_case_134_comments_only_where_the_agent_reads_them(ident: str, reads: bool) -> None:
    text = '{\n  // why\n  "a": 1 /* b */, // c\n  "hooks": { // d\n    // e\n  } // f\n}\n// end'
    if not reads:
        with pytest.raises(TextError, match="line 2: a comment"):
            form(ident).install(text, None)
        return
    once = form(ident).install(text, text)
    for part in ("// why", "/* b */", "// c", "// d", "// e", "// f", "// end"):
        assert part in once
    assert form(ident).remove(once, text) == text
    without = form(ident).remove(once, None)
    assert without is not None
    assert parse(without, True).data() == {"a": 1}


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "hooks": {\n    "Stop": [{"hooks": []} // mine\n    ]\n  }\n}\n',
        '{"x": 1 // mine\n}',
        "{ // mine\n}",
        '{\n  "hooks": { // mine\n    "Stop": [ // yours\n    ]\n  }\n}\n',
    ],
)
def test_nothing_of_ours_ends_up_in_a_comment(text: str) -> None:
    once = SMALL.install(text, text)
    assert commands(once, "claude") == [SHORT]
    assert SMALL.remove(once, text) == text


def test_what_follows_ours_does_not_end_up_in_a_comment() -> None:
    ours = json.dumps(SMALL.wanted["Stop"])
    for text in (
        f'{{"x": 1, // mine\n  "hooks": {{"Stop": [{ours}]}} }}',
        f'{{"x": 1, // mine\n  "hooks": {{"Stop": [{ours}]}}, "y": 2 }}',
        f'{{"x": 1, "hooks": {{"Stop": [{{"a": 1}}, // mine\n {ours}, {{"b": 2}}]}}}}',
    ):
        left = SMALL.remove(text, None)
        assert left is not None
        wanted = parse(text, True).data()
        wanted["hooks"]["Stop"].remove(json.loads(ours))
        if not wanted["hooks"]["Stop"]:
            del wanted["hooks"]
        assert parse(left, True).data() == wanted


def test_case_134_a_users_hook_in_our_group_survives() -> None:
    form_ = form("claude")
    data = json.loads(form_.install(None, None))
    data["hooks"]["Stop"][0]["hooks"].insert(0, {"type": "command", "command": "say mine"})
    data["hooks"]["PreToolUse"][0]["hooks"].append({"type": "command", "command": "say yours"})
    text = json.dumps(data, indent=2)
    assert form_.install(text, None) == text, "still as wanted"
    left = form_.remove(text, None)
    assert left is not None
    assert json.loads(left) == {
        "hooks": {
            "PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "say yours"}]}],
            "Stop": [{"hooks": [{"type": "command", "command": "say mine"}]}],
        }
    }


@pytest.mark.parametrize("ident", FORMS)
def test_case_137_another_path_replaces_and_never_doubles(ident: str) -> None:
    elsewhere = AGENTS[ident].parts({"HOME": "/h"}, Path("/b b/agents.tmux/bin/agent-hook"))[0].format
    text = '{\n  "hooks": {\n    "Other": [{"a": 1}]\n  }\n}\n'
    once = elsewhere.install(form(ident).install(text, text), text)
    assert once == elsewhere.install(text, text)
    assert all("'/b b/agents.tmux/bin/agent-hook'" in said for said in commands(once, ident))
    assert form(ident).remove(once, text) == text, "and either version takes it out"


def test_case_137_a_doubled_entry_becomes_one_and_a_dropped_event_goes() -> None:
    data = json.loads(SMALL.install(None, None))
    data["hooks"]["Stop"] *= 2
    data["hooks"]["Gone"] = [{"hooks": [{"type": "command", "command": command(HOOK, "claude", "Gone")}]}]
    assert SMALL.install(json.dumps(data, indent=2) + "\n", None) == SMALL.install(None, None)


def test_entries_added_after_ours_stay() -> None:
    form_ = form("claude")
    text = '{\n  "a": 1\n}\n'
    once = form_.install(text, text)
    later = once[: once.rindex("}")].rstrip() + ',\n  "b": 2\n}\n'
    assert form_.remove(later, text) == '{\n  "a": 1,\n  "b": 2\n}\n'


@pytest.mark.parametrize(
    "said, ours",
    [
        (command(HOOK, "claude", "Stop"), True),
        (command(Path("/with 'quotes' and blanks/agents.tmux/bin/agent-hook"), "claude", "Stop"), True),
        ("/old/agents.tmux/bin/agent-hook claude Stop", True),
        (command(HOOK, "codex", "Stop"), False),
        (f"say done; {HOOK} claude Stop", False),
        (f"{HOOK} claude Stop; say done", False),
        (f"[ ! -x {HOOK} ] || exec {HOOK} claude Stop && say done", False),
        ("/plugins/agents.tmux/scripts/agent-hook claude Stop", False),
        ("agent-hook claude Stop", False),
        (None, False),
    ],
)
def test_only_what_is_wholly_ours_is_ours(said: object, ours: bool) -> None:
    assert is_ours(said, "claude") is ours


def test_gemini_hears_an_empty_answer_in_every_case() -> None:
    for ident in ("gemini", "qwen"):
        said = command(HOOK, ident, "Stop")
        assert said.endswith("; echo '{}'")
        assert is_ours(said, ident)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from(["hooks", "Stop"]), inner, max_size=3)
    ),
    max_leaves=8,
)
HANDLERS = st.lists(st.builds(lambda c: {"type": "command", "command": c}, st.text(max_size=8)), max_size=2)
GROUPS = st.lists(st.builds(lambda h: {"matcher": "*", "hooks": h}, HANDLERS) | VALUES, max_size=3)
HOOKS = st.dictionaries(st.sampled_from(["Stop", "PreToolUse", "Own", "agentStop"]), GROUPS, max_size=3)


@st.composite
def files(draw: st.DrawFn) -> str:
    data: dict[str, Any] = draw(st.dictionaries(st.text(max_size=4).filter(lambda k: k != "hooks"), VALUES, max_size=4))
    if draw(st.booleans()):
        data["hooks"] = draw(HOOKS)
        order = draw(st.permutations(list(data)))
        data = {key: data[key] for key in order}
    indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", " : ")]))
    text = json.dumps(data, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from(["", "\ufeff", "\n "])) + text + draw(st.sampled_from(["", "\n", "  \n\n"]))


@settings(max_examples=120)
@given(text=files(), ident=st.sampled_from(sorted(FORMS)))
def test_any_file_comes_back_and_keeps_its_meaning(text: str, ident: str) -> None:
    form_ = form(ident)
    once = form_.install(text, text)
    assert form_.install(once, text) == once
    assert form_.remove(once, text) == text
    again = form_.remove(once, None)
    left = {} if again is None else parse(again).data()
    wanted = parse(text).data()
    # Without the backup an empty list or group of the user's cannot be told from one that only held ours.
    for data in (left, wanted):
        data["hooks"] = {event: items for event, items in data.get("hooks", {}).items() if items}
        data.setdefault("version", 1)
    assert left == wanted


@settings(max_examples=150)
@given(data=VALUES, indent=st.sampled_from([None, 1, "\t"]))
def test_json_is_read_as_python_reads_it(data: object, indent: int | str | None) -> None:
    text = json.dumps(data, indent=indent)
    assert parse(text).data() == json.loads(text)


@settings(max_examples=200)
@given(text=st.text(alphabet='{}[]",:/* \n\\a1.e-tru', max_size=24))
def test_what_python_refuses_is_refused(text: str) -> None:
    try:
        found = parse(text).data()
    except TextError:
        return
    assert found == json.loads(text)


def commands(text: str, ident: str) -> list[str]:
    """Our commands in a file, wherever they are."""
    found: list[str] = []

    def look(value: object) -> None:
        if isinstance(value, dict):
            found.extend(said for said in value.values() if is_ours(said, ident))
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            look(inner)

    look(parse(text, True).data())
    return found
