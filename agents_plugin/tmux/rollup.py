"""The rollup: one tmux command that counts panes per window, session and server, and renders the status segment.

tmux expands the outer format at once, panes become letters there (`b` blocked, `w` working, `i` idle, `d` done,
`u` unknown, then `a` for attention), and runs the text it gives: ids of its own, those letters and inner formats, never
a value somebody wrote. Inner formats are evaluated when they run, so what differs is decided at that moment.
"""

from __future__ import annotations

from agents_plugin.settings import BY_NAME, GLYPHS, STATES
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

# Hidden variables of one run; writing them redraws nothing.
_LETTERS, _VALUE, _SEEN = "AGENTS_LETTERS", "AGENTS_VALUE", "AGENTS_SEEN"
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
    state = "#{@agent_state}"

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
    return f"#{{?@agent_state,{letter}#{{?#{{@agent_attention}},a,}},}}"


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


def _attention() -> str:
    return f"#{{s/^0$//:{_count('a')}}}"


def _segment() -> str:
    """The status segment: for each word of @agents-order mark and count, when there is any."""
    # The words get brackets first, so that a mark or a colour may contain the name of a state.
    text = f"#{{s/([a-z]+)/<\\1>/:{_set_or_default('@agents-order')}}}"
    for state in STATES:
        unicode_mark, ascii_mark = (mark.replace("#", "##") for mark in GLYPHS[state])
        usual = f"#{{?#{{==:#{{@agents-glyphs}},ascii}},{ascii_mark},{unicode_mark}}}"
        mark = f"#{{?#{{@agents-glyph-{state}}},#{{@agents-glyph-{state}}},{usual}}}"
        count = _count(_SHOWN[state])
        shown = f"#[fg={_set_or_default(f'@agents-colour-{state}')}]{mark}{count}#[default]"
        text = f"#{{s/<{state}>/#{{?#{{!=:{count},0}},{shown},}}/:{text}}}"
    return f"#{{s/<[a-z]*>//;s/ +/ /;s/^ //;s/ $//:{text}}}"


def _set_or_default(option: str) -> str:
    return f"#{{?#{{{option}}},#{{{option}}},{BY_NAME[option].default}}}"


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


def _windows(panes: str) -> str:
    stale = f"#{{{WINDOW_SUMMARY}}}#{{{WINDOW_ATTENTION}}}"
    commands = (
        _letters(panes)
        + _publish(WINDOW_SUMMARY, _summary(), "-w -t #{window_id}")
        + _publish(WINDOW_ATTENTION, _attention(), "-w -t #{window_id}")
    )
    return f"#{{?{panes}{stale},{commands},}}"


def _session(panes: str) -> str:
    inside = f"#{{W:{panes}}}"
    # A session id begins with a dollar sign: only in quotes it is no variable.
    commands = _letters(inside) + _publish(SESSION_SUMMARY, _summary(), "- -t '#{session_id}'")
    return f"#{{?{inside}#{{{SESSION_SUMMARY}}},{commands},}}"


def _linked(panes: str) -> str:
    """Adds a window that is in several sessions to the letters, once. By id: a session's name may hold a comma."""
    unseen = _later("#{==:#{m:*<") + "#{window_id}" + _later(f">*,#{{{_SEEN}}}}},0}}")
    mark = _later(f"#{{{_SEEN}}}<") + "#{window_id}>"
    more = _later(f"#{{{_LETTERS}}}") + panes
    command = (
        f"if-shell -F '{unseen}' {{ set-environment -ghF {_SEEN} '{mark}' ; "
        f"set-environment -ghF {_LETTERS} '{more}' #}} ; "
    )
    return f"#{{?{_ALONE},,#{{?{panes},{command},}}}}"


def _server(panes: str) -> str:
    alone = f"#{{S:#{{W:#{{?{_ALONE},{panes},}}}}}}"
    return (
        _letters(alone)
        + f"set-environment -gh {_SEEN} '' ; #{{S:#{{W:{_linked(panes)}}}}}"
        + _publish(SUMMARY, _summary(), "-g")
        + _publish(STATUS, _segment(), "-g")
    )


def _queue() -> str:
    """Drops from the queue who needs you no longer, dead panes too; the order stays."""
    needy = f"#{{S:#{{W:#{{P:#{{?#{{m:[bd]*,{_pane_letters()}}},#{{pane_id}}|,}}}}}}}}"
    # Who stays is marked `+`, the rest goes; `x` because an alternation must not end empty.
    numbers = f"#{{s/%//:{needy}}}x"
    kept = _later("#{s/%(") + numbers + _later(") /+\\1 /;s/%[0-9]+ //;s/[+]/%/:") + _later(f"{QUEUE}}}")
    value = f"set-environment -ghF {_VALUE} '{kept}' ; "
    publish = _publish(QUEUE, "", "-g").partition(" ; ")[2]
    return f"#{{?{QUEUE},{value}{publish},}}"


def _outer() -> str:
    panes = f"#{{P:{_pane_letters()}}}"
    # Afterwards nothing of the run stays in the environment.
    done = " ; ".join(f"set-environment -gu {name}" for name in (_LETTERS, _VALUE, _SEEN))
    return f"#{{S:{_session(panes)}#{{W:{_windows(panes)}}}}}{_queue()}{_server(panes)}{done}"


def command() -> str:
    """The rollup as one line of tmux's command language, for scripts and aliases."""
    text = _outer()
    if "\n" in text or '"' in text:
        raise ValueError("the rollup must fit one double-quoted word")
    return 'run-shell -C "' + text.replace("\\", "\\\\").replace("$", "\\$") + '"'


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
