"""The rollup: one tmux command that counts panes per window, session and server, and renders the status segment.

tmux expands the outer format, where panes become letters (`b` blocked, `w` working, `i` idle, `d` done, `u` unknown,
then `a` for attention), into a hidden variable and runs that text at once, without letting another client in between:
ids of its own, those letters, counts and inner formats, never a value somebody wrote.
A command costs tmux 20 to 60 us, a pane visited by a format 2 to 4: what differs is found by formats.
Since 3.7 tmux cuts an expansion short after 100 ms: there are several small ones, and one that was cut runs nothing.
"""

from __future__ import annotations

from agents_plugin.settings import BY_NAME, COLOUR, GLYPHS, MARK_CELLS, STATES
from agents_plugin.tmux.contract import (
    INDEX,
    QUEUE,
    ROLLUP_ALIAS,
    SESSION_SUMMARY,
    STATUS,
    SUMMARY,
    WINDOW_ATTENTION,
    WINDOW_SUMMARY,
    quote,
)

# Hidden variables; writing them redraws nothing. What the windows looked like stays, the others go when it is done.
_RUN, _LETTERS, _VALUE, _VISITED, _KNOWN, _CUT, _ORDER = (
    f"AGENTS_R_{name}" for name in ("RUN", "LETTERS", "VALUE", "VISITED", "KNOWN", "CUT", "ORDER")
)
# Formats that are used inside others. tmux scans a nested format again at every level (5 ns a character): written out,
# the same work took three times as long.
_PANE, _PANES, _WINDOW, _TOTAL, _LINKED = (
    f"AGENTS_R_F{name}" for name in ("PANE", "PANES", "WINDOW", "TOTAL", "LINKED")
)
_MARKS = {state: f"AGENTS_R_F{state.upper()}" for state in STATES}
#: Makes the next run look at every window again, also when its agents are what they were.
FORGET = f"set-environment -gu {_KNOWN}"
#: State words and the letters that count as them: done is idle that was not seen.
_COUNTED = {"blocked": "b", "working": "w", "idle": "id", "unknown": "u"}
_SHOWN = {"blocked": "b", "working": "w", "idle": "i", "done": "d", "unknown": "u"}
# A bare colon ends the pattern of a substitution.
_COLON = "#{l::}"
# tmux 3.8 does not count the sessions of a group as links, 3.3a does: both are told apart from a window of its own.
_ALONE = "#{?session_grouped,0,#{==:#{window_linked_sessions},1}}"


def _choose(*branches: tuple[str, str], otherwise: str = "") -> str:
    """Nested conditionals: the text of the first format that is true."""
    text = otherwise
    for condition, value in reversed(branches):
        text = f"#{{?{condition},{value},{text}}}"
    return text


def _pane_letters() -> str:
    """The letters of a pane; nothing for one without a state. Reports of others count before we cleaned them."""
    # Clipped: a report of 100 kB is matched as fast as any other.
    state = "#{=40:@agent_state}"

    def is_(word: str) -> str:
        return f"#{{==:{state},{word}}}"

    def reports(words: str) -> str:
        return f"#{{m/r:^({words})(:|$),{state}}}"

    letter = _choose(
        (is_("working"), "w"),
        (is_("blocked"), "b"),
        (is_("idle"), "#{?#{@agent_attention},d,i}"),
        (is_("unknown"), "u"),
        (reports("blocked|needs_input"), "b"),
        (reports("working"), "w"),
        (reports("done|errored"), "d"),
        (reports("idle"), "i"),
    )
    return f"{letter}#{{?#{{@agent_attention}},a,}}"


def _each_pane(text: str) -> str:
    return f"#{{P:#{{?@agent_state,{text},}}}}"


def _later(inner: str) -> str:
    """An inner format as the outer one must hold it: expanded when the text runs, not now. Styles stay as they are."""
    escaped = inner.replace("#", "##").replace("}", "#}").replace(",", "#,")
    return escaped.replace("##[", "#[")


def _count(letters: str) -> str:
    return f"#{{n:#{{s/[^{letters}]//:{_LETTERS}}}}}"


def _summary() -> str:
    """`blocked:1 working:2` of the letters, zeros left out."""
    counts = "".join(f" {state}={_count(letters)}" for state, letters in _COUNTED.items())
    return f"#{{s/ [a-z]+=0//;s/^ //;s/=/{_COLON}/:{counts}}}"


def _segment() -> str:
    """The status segment: for each word of @agents-order that counts somebody, mark and number.

    Not a substitution of words by marks: tmux expands what a substitution puts in again, two or three times.
    """
    text = ""
    for place in range(len(STATES)):
        blank = " " if place else ""
        for state in STATES:
            here = f"#{{m:{'?' * place}{_SHOWN[state]}*,#{{{_ORDER}}}}}"
            text += f"#{{?{here},{blank}{_call(_MARKS[state])},}}"
    return text


def _mark(state: str) -> str:
    """Mark and number of one state. Options are literal: a mark is drawn, a colour is one or the default."""
    unicode_mark, ascii_mark = (mark.replace("#", "##") for mark in GLYPHS[state])
    usual = f"#{{?#{{==:#{{@agents-glyphs}},ascii}},{ascii_mark},{unicode_mark}}}"
    given = f"#{{@agents-glyph-{state}}}"
    mark = f"#{{?#{{!=:{given},}},#{{={MARK_CELLS};q/h:@agents-glyph-{state}}},{usual}}}"
    option = f"@agents-colour-{state}"
    pattern = COLOUR.replace(",", "#,")
    colour = f"#{{?#{{m/r:^{pattern}$,#{{{option}}}}},#{{{option}}},{BY_NAME[option].default}}}"
    return f"#[fg={colour}]{mark}{_count(_SHOWN[state])}#[default]"


def _order() -> str:
    """The letters of the words to show, of those that count somebody. The default for anything but our own words, so
    that a slip hides no blocked agent."""
    order, words = "#{@agents-order}", "|".join(STATES)
    chosen = f"#{{?#{{m/r:^(({words}) *)+$,{order}}},{order},{BY_NAME['@agents-order'].default}}}"
    return f"#{{s/ *([bwidu])[a-z]* */\\1/;s/[^#{{{_LETTERS}}}a]//:{chosen}}}"


def _publish(option: str, value: str, scope: str) -> str:
    """Inner commands that write an option when it differs, and remove it when there is nothing to say."""
    target = scope.partition("-t ")[2]
    where = f"-t {target} " if target else ""
    flags = scope.split()[0]
    return (
        f"set-environment -ghF {_VALUE} '{_later(value)}' ; "
        f"if-shell -F {where}'{_later(f'#{{!=:#{{{option}}},#{{{_VALUE}}}}}')}' {{ "
        f"if-shell -F '{_later(f'#{{{_VALUE}}}')}' "
        f"{{ set-option {flags}qF {where}{option} '{_later(f'#{{{_VALUE}}}')}' #}} "
        f"{{ set-option {flags}qu {where}{option} #}} #}} ; "
    )


def _letters(outer: str) -> str:
    return f"set-environment -gh {_LETTERS} '{outer}' ; "


def _call(name: str) -> str:
    return f"#{{E:{name}}}"


def _marks(condition: str) -> str:
    return _each_pane(f"#{{?{condition},x,}}")


def _total() -> str:
    """The summary of one window, from its panes."""
    parts = ""
    for state, letters in _COUNTED.items():
        these = _marks(f"#{{m:[{letters}]*,{_call(_PANE)}}}")
        parts += f"#{{?{these},{state}:#{{n:{these}}} ,}}"
    return f"#{{s/ $//:{parts}}}"


def _window() -> str:
    """Commands that write what differs on one window."""

    def write(option: str, value: str, present: str) -> str:
        where = f"-t #{{window_id}} {option}"
        wanted = f"#{{?{present},set-option -wq {where} '{value}',set-option -wqu {where}}} ; "
        return f"#{{?#{{!=:#{{{option}}},{value}}},{wanted},}}"

    noticed = _marks("#{@agent_attention}")
    count = f"#{{?{noticed},#{{n:{noticed}}},}}"
    return write(WINDOW_SUMMARY, _call(_TOTAL), _call(_PANES)) + write(WINDOW_ATTENTION, count, noticed)


def _windows() -> str:
    """Commands for the windows whose letters are not those of the last run."""
    known = f"#{{m:*#{{window_id}} {_call(_PANES)}>*,#{{{_KNOWN}}}}}"
    return f"#{{S:#{{W:#{{?{known},,{_call(_WINDOW)}}}}}}}"


def _sessions() -> str:
    inside = f"#{{W:{_call(_PANES)}}}"
    # A session id begins with a dollar sign: only in quotes it is no variable.
    commands = _letters(inside) + _publish(SESSION_SUMMARY, _summary(), "- -t '#{session_id}'")
    return f"#{{S:#{{?{inside}#{{{SESSION_SUMMARY}}},{commands},}}}}"


def _linked() -> str:
    """Adds a window that is in several sessions to the letters, once. By id: a session's name may hold a comma."""
    unseen = _later("#{==:#{m:*<") + "#{window_id}" + _later(f">*,#{{{_VISITED}}}}},0}}")
    mark = _later(f"#{{{_VISITED}}}<") + "#{window_id}>"
    more = _later(f"#{{{_LETTERS}}}") + _call(_PANES)
    command = (
        f"if-shell -F '{unseen}' {{ set-environment -ghF {_VISITED} '{mark}' ; "
        f"set-environment -ghF {_LETTERS} '{more}' #}} ; "
    )
    return f"#{{?{_call(_PANES)},{command},}}"


def _server() -> str:
    """Remembers every window with its letters, and counts those of one session together with the linked ones."""
    all_windows = f"#{{S:#{{W:#{{?{_ALONE},<,=}}#{{window_id}} {_call(_PANES)}>}}}}"
    return (
        f"set-environment -gh {_KNOWN} '{all_windows}' ; "
        f"set-environment -ghF {_LETTERS} '{_later(f'#{{s/=[^>]*>//:{_KNOWN}}}')}' ; "
        f"set-environment -gh {_VISITED} '' ; #{{S:#{{W:#{{?{_ALONE},,{_call(_LINKED)}}}}}}}"
        + _publish(SUMMARY, _summary(), "-g")
        + f"set-environment -ghF {_ORDER} '{_later(_order())}' ; "
        + _publish(STATUS, _segment(), "-g")
    )


def _queue() -> str:
    """Drops from the queue who needs you no longer, dead panes too; the order stays."""
    needy = f"#{{S:#{{W:{_each_pane(f'#{{?#{{m:[bd]*,{_call(_PANE)}}},#{{pane_id}}|,}}')}}}}}"
    # Who stays is marked `+`, the rest goes; `x` because an alternation must not end empty.
    numbers = f"#{{s/%//:{needy}}}x"
    kept = _later("#{s/%(") + numbers + _later(f") /+\\1 /;s/%[0-9]+ //;s/[+]/%/:{QUEUE}}}")
    value = f"set-environment -ghF {_VALUE} '{kept}' ; "
    publish = _publish(QUEUE, "", "-g").partition(" ; ")[2]
    return f"#{{?{QUEUE},{value}{publish},}}"


def _word(text: str) -> str:
    if "\n" in text or '"' in text:
        raise ValueError("does not fit one double-quoted word")
    return '"' + text.replace("\\", "\\\\").replace("$", "\\$") + '"'


def command() -> str:
    """The rollup as one line of tmux's command language, for scripts and aliases."""
    formats = {
        _PANE: _pane_letters(),
        _PANES: _each_pane(_call(_PANE)),
        _TOTAL: _total(),
        _WINDOW: _window(),
        _LINKED: _linked(),
        **{name: _mark(state) for state, name in _MARKS.items()},
    }
    given = "".join(f"set-environment -gh {name} {_word(text)} ; " for name, text in formats.items())
    parts = "".join(map(_part, (_sessions(), _windows(), _queue(), _server())))
    temporary = (_RUN, _LETTERS, _VALUE, _VISITED, _CUT, _ORDER, *formats)
    done = "".join(f"set-environment -gu {name} ; " for name in temporary).removesuffix(" ; ")
    return f"{given}{parts}if-shell -F '#{{{_CUT}}}' '{FORGET}' ; {done}"


def _part(text: str) -> str:
    """Commands that expand a format and run what it gives, at once, unless it was cut short."""
    # A conditional is empty once the time is over, so only a whole text ends with this comment.
    whole = _word(text + "#{?#{l:1}, ## !,}")
    # The inner command line is parsed when it runs, and takes the text out of the variable then.
    run = f"'if-shell -F 1 \"${_RUN}\"' 'set-environment -gh {_CUT} 1'"
    return f"set-environment -ghF {_RUN} {whole} ; if-shell -F '#{{m:*!,#{{{_RUN}}}}}' {run} ; "


#: What a batch of writes ends with. Not the alias: an unknown command would void the whole batch.
COMMAND = command()


def alias_file() -> str:
    """The content of `scripts/rollup.tmux`, which defines the alias and which tmux sources."""
    return (
        "# Made by `python -m agents_plugin.tmux.rollup`: counts panes per window, session and server.\n"
        f"set-option -s command-alias[{INDEX}] {quote(f'{ROLLUP_ALIAS}={COMMAND}')}\n"
    )


if __name__ == "__main__":
    print(alias_file(), end="")
