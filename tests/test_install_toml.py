"""Codex's `notify` in config.toml: our block comes and goes, everything else stays as it is."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_plugin.integrations import tomltext
from agents_plugin.integrations.jsontext import TextError
from agents_plugin.integrations.tomltext import NotifyToml, statements

HOOK = Path("/h/agents.tmux/bin/agent-hook")
NOTIFY = NotifyToml(HOOK)
BLOCK = (
    "# >>> agents.tmux: tells tmux when a turn ends; `agents install --remove codex` takes this out >>>\n"
    """notify = ['/bin/sh', '-c', '[ ! -x "$0" ] || exec "$0" codex notify "$@"', '/h/agents.tmux/bin/agent-hook']\n"""
    "# <<< agents.tmux <<<\n"
)

FILES = {
    "empty": "",
    "blank": "\n\n",
    "only a comment": "# mine",
    "keys": 'model = "gpt"\napproval_policy = "never"\n',
    "no newline at the end": "a = 1",
    "table first": "# head\n[features]\nhooks = true # yes\n",
    "crlf": 'model = "gpt"\r\n\r\n[a.b]\r\nc = 1\r\n',
    "byte order mark": "\ufeffa = 1\n",
    "texts that look like more": (
        'a = """\nnotify = ["x"]\n[table]\n\\""" # not the end"""\nb = \'\'\'\n[[x]]\n\'\'\'\nc = "[#\\""\n'
        "d = '#'\ne = [\n  1, # one ]\n  '''}''',\n]\nf = { g = [ { h = 'i' } ] }\n"
    ),
    "trusted hooks": '[hooks.state]\n"/h/hooks.json:stop:0:0" = { trusted_hash = "sha256:0" }\n[p."/a b"]\nx = 1\n',
    "arrays of tables": "[[x]]\na = 1\n[[x]]\na = 2\n[x.y]\nb = 1979-05-27T07:32:00Z\n",
    "notify in a table": "[tui]\nnotify = ['mine']\nnotifications = true\n",
    "60 keys": "".join(f"key{i} = {i}\n" for i in range(60)),
    "quoted and dotted keys": "\"a b\" = 1\n'c'.d = 2\ne . f=3\n",
}


@pytest.fixture(params=["tomllib", "structure"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With Python's own parser, and as on Python 3.10, which has none."""
    if request.param == "structure":
        monkeypatch.setattr(tomltext, "_parsed", lambda text: None)
    else:
        pytest.importorskip("tomllib")
    return str(request.param)


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_install_install_remove_gives_the_same_bytes(text: str, reader: str) -> None:
    once = NOTIFY.install(text, text)
    newline = "\r\n" if "\r\n" in text else "\n"
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    assert once == bom + BLOCK.replace("\n", newline) + text.removeprefix(bom)
    assert NOTIFY.has_ours(once)
    assert NOTIFY.install(once, text) == once
    assert NOTIFY.remove(once, text) == text


def test_a_file_that_was_missing_goes_again(reader: str) -> None:
    assert NOTIFY.install(None, None) == BLOCK
    assert NOTIFY.remove(BLOCK, None) is None
    assert NOTIFY.remove(BLOCK, "") == ""


@pytest.mark.parametrize(
    "text",
    [
        'notify = ["my-program"]\n',
        'a = 1\nnotify = [\n  "x",\n]\n',
        f"notify = ['my-chain', '{HOOK}']\n",
        '"notify" = ["x"]\n',
    ],
)
def test_a_notify_of_the_users_stays(text: str, reader: str) -> None:
    assert NOTIFY.taken(text)
    assert NOTIFY.install(text, None) == text
    assert NOTIFY.remove(text, None) == text
    assert not NOTIFY.has_ours(text)


def test_case_137_another_path_replaces(reader: str) -> None:
    text = FILES["keys"]
    elsewhere = NotifyToml(Path("/b b/agents.tmux/bin/agent-hook"))
    moved = elsewhere.install(NOTIFY.install(text, text), text)
    assert moved == elsewhere.install(text, text)
    assert moved.count("notify") == 2, "the setting and its event"
    assert NOTIFY.remove(moved, text) == text


@pytest.mark.parametrize("lost", [0, 2])
def test_our_line_is_found_without_its_marks(lost: int, reader: str) -> None:
    lines = BLOCK.splitlines(keepends=True)
    kept = "".join(line for number, line in enumerate(lines) if number != lost)
    assert NOTIFY.remove("# mine\n" + kept + "a = 1\n", "") is not None
    left = NOTIFY.remove(kept + "a = 1\n", "")
    assert left is not None
    assert "notify" not in left and "a = 1\n" in left


def test_keys_written_below_ours_by_codex_stay(reader: str) -> None:
    text = FILES["keys"]
    later = NOTIFY.install(text, text) + "[hooks.state]\nx = 'y'\n"
    assert NOTIFY.remove(later, text) == text + "[hooks.state]\nx = 'y'\n"


UNREADABLE = {
    "case-134 cut off": 'a = "b',
    "no value": "a =\n",
    "no key": "= 1\n",
    "json": '{"a": 1}',
    "case-134 a list": "[1, 2]\n",
    "open list": "a = [1,\n",
    "open header": "[a\n",
    "two on a line": 'a = "1" b = 2\n',
    "a key twice": "a = 1\na = 2\n",
    "notify twice": "notify = ['a']\nnotify = ['b']\n",
    "closing without opening": "a = 1]\n",
    "open long text": 'a = """b\n',
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_is_refused(text: str, reader: str) -> None:
    for act in (NOTIFY.install, NOTIFY.remove):
        with pytest.raises(TextError, match="line"):
            act(text, None)


def test_a_path_that_toml_cannot_hold_is_refused() -> None:
    with pytest.raises(TextError, match="path"):
        NotifyToml(Path("/it's/agents.tmux/bin/agent-hook")).install("", "")


def test_without_tomllib_it_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def without(name: str, package: str | None = None) -> object:
        if name == "tomllib":
            raise ImportError(name)
        return real(name, package)

    monkeypatch.setattr(tomltext, "import_module", without)
    assert tomltext._parsed("not = = toml") is None
    assert NOTIFY.remove(NOTIFY.install("a = 1\n", ""), "") == "a = 1\n"


LINES = st.lists(
    st.sampled_from(
        [
            *(
                "a = 1",
                'b = "x # y"',
                "c = [1, [2, 'three']] # four",
                "[t]",
                "[t.u]",
                "[[v]]",
                "# notify = 1",
                "",
                "  ",
            ),
            *(
                "d.e = true",
                "f = '''\n[g]\n'''",
                'h = """\n\\"""\n"""',
                "i = { j = 1 }",
                "k = [\n 1,\n 2 ]",
                "l=-1.5e3",
            ),
        ]
    ),
    max_size=8,
)


@settings(max_examples=150)
@given(lines=LINES, newline=st.sampled_from(["\n", "\r\n"]), tail=st.booleans())
def test_any_file_comes_back(lines: list[str], newline: str, tail: bool) -> None:
    tomllib = pytest.importorskip("tomllib")
    text = "\n".join(lines + [""] * tail).replace("\n", newline)
    try:
        data = tomllib.loads(text)
    except ValueError:
        with pytest.raises(TextError):
            NOTIFY.install(text, text)
        return
    once = NOTIFY.install(text, text)
    assert tomllib.loads(once) == {**data, "notify": tomllib.loads(BLOCK)["notify"]}
    assert NOTIFY.remove(once, text) == text
    assert all(text[s.start : s.end].strip() for s in statements(text))
