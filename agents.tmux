#!/bin/sh
# Loads agents.tmux into the tmux server around it: by TPM, or with `run-shell /path/to/agents.tmux`. Silent, idempotent.
# What tmux needs at once is installed in one batch; keys, Python and the helper follow in the background.
# `agents.tmux again` installs the batch only: for who finds a hook or the segment overwritten.

# Hooks and jobs run these lines with sh, whatever the plugin's path is. A failing or printing hook would throw a pane into
# view-mode; a shell that cannot source a file ends, so the poke is wrapped.
commands() {
    agents_quote "$AGENTS_HOME"
    agents_settings="AGENTS_HOME=$AGENTS_QUOTED"
    agents_quote "$AGENTS_RUN"
    agents_settings="$agents_settings AGENTS_RUN=$AGENTS_QUOTED"
    agents_quote "$AGENTS_HOME/scripts/drive"
    drive="$agents_settings; . $AGENTS_QUOTED"
    agents_quote "$AGENTS_HOME/scripts/poke"
    poke="($agents_settings; . $AGENTS_QUOTED) >/dev/null 2>&1 || true"
    agents_quote "$AGENTS_HOME/agents.tmux"
    load="(/bin/sh $AGENTS_QUOTED) >/dev/null 2>&1 || true"
    if [ "$version" = 3.5 ]; then
        # This release alone runs jobs with default-shell, which may be no sh.
        agents_quote "$drive"
        drive="exec /bin/sh -c $AGENTS_QUOTED"
        agents_quote "$poke"
        poke="exec /bin/sh -c $AGENTS_QUOTED"
        agents_quote "$load"
        load="exec /bin/sh -c $AGENTS_QUOTED"
    fi
}

# What stays when we are switched off: the hook that hears of being switched on.
switch() {
    agents_quote "$load"
    printf 'set-environment -gh AGENTS_LOAD %s\n' "$AGENTS_QUOTED"
    cat "$AGENTS_HOME/scripts/switch.tmux"
}

# The batch: tmux's own language on standard output.
batch() {
    switch
    cat "$AGENTS_HOME/scripts/rollup.tmux" "$AGENTS_HOME/scripts/navigation.tmux"
    agents_quote "$drive"
    printf 'set-environment -gh AGENTS_DRIVE %s\n' "$AGENTS_QUOTED"
    agents_quote "$poke"
    printf 'set-environment -gh AGENTS_POKE %s\n' "$AGENTS_QUOTED"
    agents_quote "$AGENTS_HOME/scripts/agents"
    agents_quote "agents=display-popup -w 90% -h 80% -E /bin/sh $AGENTS_QUOTED prompt"
    printf 'set-option -s command-alias[4714] %s\n' "$AGENTS_QUOTED"
    [ "$append" = no ] || printf '%s\n' "set-option -ga status-right '#(#{AGENTS_DRIVE})'"
    printf '%s\n' 'run-shell -C agents-rollup'
}

# Puts the segment where the placeholder is: `placed` is the new text, `found` says whether it differs.
place() {
    placed= rest=$1 found=no
    while :; do
        case $rest in
        *'#{agents_status}'*)
            placed=$placed${rest%%'#{agents_status}'*}'#{@agents_status}'
            rest=${rest#*'#{agents_status}'}
            found=yes
            [ "$append" = no ] || placed=$placed'#(#{AGENTS_DRIVE})'
            append=no
            ;;
        *) break ;;
        esac
    done
    placed=$placed$rest
    # tmux takes a last semicolon of an argument for the end of a command.
    case $placed in *';') placed=${placed%;}'\;' ;; esac
}

# One call for everything there is to know. Names first: a line of somebody's status text is never taken for one of ours.
read_options() {
    version='' enabled='' monitor='' left='' right='' part=
    newline='
'
    while IFS= read -r line; do
        case $part$line in
        "agents.tmux version "*) version=${line##* } ;;
        "agents.tmux enabled "*) enabled=${line##* } ;;
        "agents.tmux monitor "*) monitor=${line##* } ;;
        "agents.tmux status-left") part=left ;;
        "leftagents.tmux status-right") part=right ;;
        left*) left=$left${left:+$newline}$line ;;
        right*) right=$right${right:+$newline}$line ;;
        esac
    done <<OPTIONS
$(agents_tmux set-environment -ghu AGENTS_CHANGED \; \
        display-message -p 'agents.tmux version #{version}' \; \
        display-message -p 'agents.tmux enabled #{@agents-enabled}' \; \
        display-message -p 'agents.tmux monitor #{@agents-monitor}' \; \
        display-message -p 'agents.tmux status-left' \; show-options -gqv status-left \; \
        display-message -p 'agents.tmux status-right' \; show-options -gqv status-right)
OPTIONS
}

old() { # tmux before 3.2, in spellings like next-3.8, 3.7b, openbsd-7.1
    case $version in
    openbsd-*) return 1 ;;
    esac
    number=${version#next-}
    major=${number%%.*} minor=${number#*.}
    minor=${minor%%[!0-9]*}
    case $major in '' | *[!0-9]*) return 1 ;; esac
    [ "$major" -lt 3 ] || { [ "$major" -eq 3 ] && [ "${minor:-0}" -lt 2 ]; }
}

main() {
    umask 077
    case $0 in */*) AGENTS_HOME=${0%/*} ;; *) AGENTS_HOME=. ;; esac
    AGENTS_HOME=$(CDPATH= cd -- "$AGENTS_HOME" && pwd) || return 0
    . "$AGENTS_HOME/scripts/lib.sh"
    agents_server || return 0
    AGENTS_OLD=
    read_options
    if [ -z "$version" ]; then
        # Only a tmux before 3.2 refuses -N; what shows a message starts no server there either.
        AGENTS_OLD=1
        version=$(agents_tmux -V)
        version=${version##* }
        old || return 0
    fi
    if old; then
        agents_say "this tmux is too old, it needs 3.2 or newer"
        return 0
    fi
    case $enabled in
    off | 0 | no | false)
        /bin/sh "$AGENTS_HOME/scripts/uninstall"
        commands
        switch | agents_tmux source-file -
        # Switched on again while we took everything away.
        read_options
        case $enabled in
        off | 0 | no | false) return 0 ;;
        esac
        ;;
    esac
    if agents_runtime; then
        case $monitor in
        off | 0 | no | false) : >"$AGENTS_RUN/oneshot" ;;
        *) [ ! -e "$AGENTS_RUN/oneshot" ] || rm -f "$AGENTS_RUN/oneshot" ;;
        esac
    else
        agents_say "the runtime directory $AGENTS_RUN is not ours alone, so no states"
        AGENTS_RUN=/nonexistent
    fi

    commands
    append=yes
    case $left$right in *'#(#{AGENTS_DRIVE})'*) append=no ;; esac
    place "$left"
    left=$placed left_found=$found
    place "$right"
    right=$placed right_found=$found
    again=${1:-}
    set -- source-file -
    [ "$left_found" = no ] || set -- "$@" \; set-option -g status-left "$left"
    [ "$right_found" = no ] || set -- "$@" \; set-option -g status-right "$right"
    enabled=$(batch | agents_tmux "$@" \; show-options -gqv @agents-enabled)
    case $enabled in
    off | 0 | no | false) exec /bin/sh "$AGENTS_HOME/agents.tmux" ;; # switched off meanwhile
    esac

    # Somebody repairs what was overwritten: the rest is at work already.
    [ "$again" != again ] || return 0
    # Detached: a job of tmux ends when nobody holds its output any more.
    AGENTS_HOME=$AGENTS_HOME AGENTS_RUN=$AGENTS_RUN /bin/sh "$AGENTS_HOME/scripts/after-load" "$PPID" &
}

main "$@" </dev/null >/dev/null 2>&1
