"""What the model answers, in any protocol: by the word in the prompt, with tools from the agent's own list."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: `please lab:run`: the last such word of the conversation is what the turn is about.
WORD = re.compile(r"\blab:([a-z0-9_]+)")

Reply = Mapping[str, Any]
#: Names agents give their tools, by what we want to do with them.
KINDS: Mapping[str, tuple[str, ...]] = {
    "shell": (
        *("Bash", "bash", "exec_command", "shell_command", "shell", "Shell", "run_shell_command", "run_commands"),
        *("execute_command", "run_command", "terminal", "execute_bash"),
    ),
    "read": ("Read", "read", "read_file", "ReadFile", "view", "view_file", "read_files"),
    "edit": ("Edit", "edit", "replace", "str_replace_editor", "edit_file", "StrReplaceFile", "MultiEdit"),
    "write": ("Write", "write", "write_file", "WriteFile", "create_file", "create"),
    "ask": (
        *("AskUserQuestion", "ask_user_question", "ask_user", "question", "request_user_input", "AskQuestion"),
        *("ask_question", "ask_followup_question", "clarify", "ask"),
    ),
    "plan": ("ExitPlanMode", "exit_plan_mode", "plan_exit", "SubmitPlan"),
}
PLAN = "1. Read calc.py\n2. Add a subtract function\n3. Run it"
QUESTION = "Which colour should the header use?"
CHOICES = ("Red", "Green")
LOOP = "for i in 1 2 3 4 5 6 7 8; do echo step $i; sleep 1; done"

#: word -> one list of replies per request of the turn; beyond the last, `DONE`.
WORDS: Mapping[str, Sequence[Sequence[Reply]]] = {
    "hello": [[{"say": "Hello from the mock model. All is well."}]],
    "slow": [[{"say": " ".join(f"word{i}" for i in range(50)), "each": 0.2}]],
    "think": [[{"think": 6}, {"say": "I have thought about it: fine."}]],
    "wait": [[{"wait": 8}, {"say": "That took a while to start."}]],
    "run": [[{"say": "I will create the file."}, {"tool": "shell", "command": "touch hello.txt"}]],
    "remove": [[{"say": "I will remove the folder."}, {"tool": "shell", "command": "rm -rf ./build-old"}]],
    "long": [[{"say": "This takes a moment."}, {"tool": "shell", "command": LOOP}]],
    "two": [
        [
            {"say": "Two commands."},
            {"tool": "shell", "command": "touch one.txt"},
            {"tool": "shell", "command": "touch two.txt"},
        ]
    ],
    "edit": [[{"say": "I will read it first."}, {"tool": "read"}], [{"say": "Now the change."}, {"tool": "edit"}]],
    "write": [[{"say": "I will write the file."}, {"tool": "write"}]],
    "ask": [[{"say": "I have a question."}, {"tool": "ask"}]],
    "plan": [[{"say": "Here is my plan."}, {"tool": "plan"}]],
    "prose": [[{"say": "Should I go on and refactor calc.py as well?\n\n1. Yes, refactor it\n2. No, leave it"}]],
    "error": [[{"fail": 500}]],
    "limit": [[{"fail": 429}]],
}
DONE: Sequence[Reply] = [{"say": "All done: the step is finished."}]
OTHER: Sequence[Reply] = [{"say": "Lab session"}]


@dataclass(frozen=True)
class Ask:
    """One request: the word of its turn, how many tool results came since, and the tools offered (name -> schema)."""

    word: str = ""
    results: int = 0
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    stream: bool = False
    model: str = "mock-model"
    schema: Mapping[str, Any] | None = None  # the answer must be JSON of this shape
    custom: frozenset[str] = frozenset()  # tools that take plain text (OpenAI's custom tools)


@dataclass(frozen=True)
class Call:
    """A tool call to emit. `args` is a text for custom tools."""

    name: str
    args: Mapping[str, Any] | str


@dataclass(frozen=True)
class Script:
    """The words of one scenario over the general ones. `work`: the agent's directory; `quote`: for `lab:quote`."""

    work: str
    words: Mapping[str, Sequence[Sequence[Reply]]] = field(default_factory=dict)
    quote: str = ""
    toolless: bool = False  # the agent offers no tools: it acts on the text of the answer

    def main(self, ask: Ask) -> bool:
        """Whether this request is the conversation itself, not one for a title or a summary."""
        return bool(ask.word) and (bool(ask.tools) or self.toolless)

    def replies(self, ask: Ask) -> Sequence[Reply]:
        """What to answer."""
        if not self.main(ask):
            return OTHER
        if ask.word == "quote" and ask.results == 0:
            quoted = f"```\n{self.quote}\n```\n\n{self.quote}"
            return [{"say": f"Here is what the dialog looks like:\n\n{quoted}\n\nThat is all.", "each": 0}]
        turns = self.words.get(ask.word) or WORDS.get(ask.word) or WORDS["hello"]
        return turns[ask.results] if ask.results < len(turns) else DONE

    def calls(self, ask: Ask, replies: Sequence[Reply]) -> list[Call]:
        """The tool calls among the replies, with arguments as the agent's schemas want them."""
        return [call for reply in replies if "tool" in reply for call in self._call(ask, reply)]

    def _call(self, ask: Ask, reply: Reply) -> Iterator[Call]:
        wanted = str(reply["tool"])
        name = next((name for name in (wanted, *KINDS.get(wanted, ())) if name in ask.tools), None)
        if name is None and "args" in reply:
            name = wanted  # an agent may know tools that it does not offer at once
        if name is None:
            return
        if name in ask.custom:
            yield Call(name, str(reply.get("text", "")).replace("$WORK", self.work))
        elif "args" in reply:
            yield Call(name, _placed(reply["args"], self.work))
        else:
            yield Call(name, Filler(self.work, wanted, str(reply.get("command", "true"))).fill(ask.tools[name]))


def _placed(value: Any, work: str) -> Any:
    if isinstance(value, str):
        return value.replace("$WORK", work)
    if isinstance(value, Mapping):
        return {key: _placed(item, work) for key, item in value.items()}
    return [_placed(item, work) for item in value] if isinstance(value, list) else value


def texts(replies: Sequence[Reply]) -> Iterator[tuple[str, str]]:
    """(`text` or `think`, piece) in the pace the replies ask for; waits inside. `wait` gives empty thoughts."""
    for reply in replies:
        if "wait" in reply:
            for _ in range(int(reply["wait"] * 2)):
                time.sleep(0.5)
                yield "wait", ""
        elif "think" in reply:
            for index in range(int(reply["think"] * 4)):
                yield "think", f"considering point {index}. "
                time.sleep(0.25)
        elif "say" in reply:
            pause = float(reply.get("each", 0.02))
            for piece in re.findall(r"\s*\S+\s*", str(reply["say"])) if pause else [str(reply["say"])]:
                yield "text", piece
                time.sleep(pause)


def whole(replies: Sequence[Reply]) -> str:
    """All text of the replies at once, for requests that do not stream."""
    return "".join(str(reply["say"]) for reply in replies if "say" in reply)


def word_in(text: str) -> str:
    """The last word of a text, empty when there is none."""
    found = WORD.findall(text)
    return str(found[-1]) if found else ""


@dataclass(frozen=True)
class Filler:
    """Arguments for a tool we only know by its schema: by the names its parameters have."""

    work: str
    kind: str
    command: str

    def fill(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Every parameter we know a value for, and a harmless one for each further required parameter."""
        shape = _deref(schema, schema)
        required = shape.get("required") or ()
        done: dict[str, Any] = {}
        for name, spec in (shape.get("properties") or {}).items():
            value = self._value(name, spec, name in required)
            if value is not None:
                done[name] = value
        return done

    def _value(self, name: str, spec: Mapping[str, Any], required: bool) -> Any:
        key = name.lower().replace("_", "")
        if key in ("command", "cmd"):
            return ["bash", "-lc", self.command] if spec.get("type") == "array" else self.command
        if key == "commands":
            return [self.command]
        if key in ("questions", "question", "options", "choices") and self.kind == "ask":
            return self._question(key, spec)
        known = {
            **dict.fromkeys(("path", "filepath", "filename"), f"{self.work}/{self._file()}"),
            **dict.fromkeys(("content", "contents", "filetext"), "one\ntwo\nthree\n"),
            **dict.fromkeys(("oldstring", "oldstr", "oldtext"), "return a + b"),
            **dict.fromkeys(("newstring", "newstr", "newtext"), "return a + b  # sum"),
            "plan": PLAN,
            "sandboxpermissions": "require_escalated",
            "justification": "May I create the file?",
        }
        if key in known:
            return known[key]
        if required or key in ("description", "instruction", "summary"):
            return _plain(spec)
        return None

    def _file(self) -> str:
        return "new_file.txt" if self.kind == "write" else "calc.py"

    def _question(self, key: str, spec: Mapping[str, Any]) -> Any:
        items = spec.get("items") or {}
        if key == "question":
            return QUESTION
        if key in ("options", "choices"):
            return [_choice(items, name) for name in CHOICES]
        shape = items.get("properties") or {}
        one: dict[str, Any] = {}
        for name, part in shape.items():
            low = name.lower().replace("_", "")
            if low in ("question", "options", "choices"):
                one[name] = self._question(low, part)
            elif low in ("header", "id"):
                one[name] = "Colour" if low == "header" else "colour"
            elif low in ("multiselect", "multiple", "multi"):
                one[name] = False
            elif low == "type":
                one[name] = "choice" if "choice" in (part.get("enum") or ()) else _plain(part)
            elif name in (items.get("required") or ()):
                one[name] = _plain(part)
        return [one]


def _choice(items: Mapping[str, Any], name: str) -> Any:
    shape = items.get("properties") or {}
    if items.get("type", "object" if shape else "string") == "string":
        return name
    values = {"label": name, "value": name, "name": name, "description": f"Use {name.lower()}"}
    return {key: values[key] for key in shape if key in values} or {"label": name}


def _plain(spec: Mapping[str, Any]) -> Any:
    if spec.get("enum"):
        return spec["enum"][0]
    kind = spec.get("type", "string")
    kind = next((one for one in kind if one != "null"), "string") if isinstance(kind, list) else kind
    return {"number": 30, "integer": 30, "boolean": False, "array": [], "object": {}}.get(str(kind), "List the files")


def _deref(value: Any, root: Mapping[str, Any]) -> Any:
    if isinstance(value, Mapping):
        if "$ref" in value:
            found: Any = root
            for key in str(value["$ref"]).lstrip("#/").split("/"):
                found = found.get(key, {})
            return _deref(found, root)
        return {key: item if key in ("$defs", "definitions") else _deref(item, root) for key, item in value.items()}
    return [_deref(item, root) for item in value] if isinstance(value, list) else value


def shaped(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A harmless object of a JSON schema, for requests that want one (routers, titles)."""
    return {name: _plain(spec) for name, spec in (schema.get("properties") or {}).items()}
