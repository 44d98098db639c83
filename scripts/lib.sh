# Shared by our shell scripts, which source it after setting AGENTS_HOME (the plugin's directory). POSIX sh.

# AGENTS_SERVER: the pid of the tmux server around us, from TMUX (socket,pid,session; the socket may hold commas).
agents_server() {
    AGENTS_SERVER=${TMUX:-}
    AGENTS_SERVER=${AGENTS_SERVER%,*}
    AGENTS_SERVER=${AGENTS_SERVER##*,}
    case $AGENTS_SERVER in '' | *[!0-9]*) return 1 ;; esac
}

# AGENTS_PLACE: the value of an XDG variable, else the default. A relative one is ignored, as the XDG specification wants.
agents_xdg() { # value, default
    case $1 in
    /*) AGENTS_PLACE=$1 ;;
    *) AGENTS_PLACE=$2 ;;
    esac
}

# AGENTS_RUN: the runtime directory of this server, made when missing; 1 when it is not ours alone (a link, another owner,
# writable by others). The same as agents_plugin/host/runtime.py.
agents_runtime() {
    agents_server || return 1
    agents_xdg "${XDG_RUNTIME_DIR:-}" ''
    if [ -n "$AGENTS_PLACE" ] && [ -d "$AGENTS_PLACE" ] && [ -O "$AGENTS_PLACE" ]; then
        agents_base=$AGENTS_PLACE/agents.tmux
    else
        agents_base=${TMPDIR:-/tmp}
        agents_base=${agents_base%/}/agents.tmux-$(id -u)
    fi
    AGENTS_RUN=$agents_base/$AGENTS_SERVER
    for agents_place in "$agents_base" "$AGENTS_RUN"; do
        [ -d "$agents_place" ] || mkdir -m 700 "$agents_place" 2>/dev/null
        [ -d "$agents_place" ] && [ ! -h "$agents_place" ] && [ -O "$agents_place" ] || return 1
    done
    case $(ls -ld "$agents_base") in d????-??-*) ;; *) return 1 ;; esac
}

# AGENTS_DATA: where the Python environment lives.
agents_data() {
    agents_xdg "${XDG_DATA_HOME:-}" "${HOME:-/nonexistent}/.local/share"
    AGENTS_DATA=$AGENTS_PLACE/agents.tmux
}

# AGENTS_PYTHON: the interpreter to use: this server's own choice, else the one bootstrap made or found.
agents_python() {
    agents_data
    for agents_file in "${AGENTS_RUN:+$AGENTS_RUN/python}" "$AGENTS_DATA/python"; do
        AGENTS_PYTHON=
        [ -n "$agents_file" ] && [ -r "$agents_file" ] && IFS= read -r AGENTS_PYTHON <"$agents_file"
        [ -n "$AGENTS_PYTHON" ] && [ -x "$AGENTS_PYTHON" ] && return 0
    done
    AGENTS_PYTHON=
    return 1
}

# tmux, also when PATH is too short for it: then the server's own executable, or where it usually is. -u keeps glyphs.
agents_tmux() {
    if [ -z "${AGENTS_TMUX:-}" ]; then
        AGENTS_TMUX=tmux
        if ! command -v tmux >/dev/null 2>&1; then
            for AGENTS_TMUX in "/proc/${AGENTS_SERVER:-x}/exe" /opt/homebrew/bin/tmux /usr/local/bin/tmux \
                /opt/local/bin/tmux /home/linuxbrew/.linuxbrew/bin/tmux /run/current-system/sw/bin/tmux \
                "${HOME:-}/.nix-profile/bin/tmux" "${HOME:-}/.local/bin/tmux" /usr/bin/tmux; do
                [ -x "$AGENTS_TMUX" ] && break
            done
        fi
    fi
    "$AGENTS_TMUX" -u "$@"
}

# AGENTS_QUOTED: a text as one word, for sh and for tmux alike.
agents_quote() {
    AGENTS_QUOTED= agents_rest=$1
    while :; do
        case $agents_rest in
        *\'*) AGENTS_QUOTED=$AGENTS_QUOTED${agents_rest%%\'*}"'\\''" agents_rest=${agents_rest#*\'} ;;
        *) break ;;
        esac
    done
    AGENTS_QUOTED="'$AGENTS_QUOTED$agents_rest'"
}

# Note a problem for doctor under a key; an empty text clears it. Lines are `key TAB text`, shared with the helper.
agents_problem() {
    [ -d "${AGENTS_RUN:-}" ] || return 0
    agents_tab=$(printf '\t')
    if [ -z "$2" ] && ! grep -q "^$1$agents_tab" "$AGENTS_RUN/problems" 2>/dev/null; then
        return 0
    fi
    {
        grep -v "^$1$agents_tab" "$AGENTS_RUN/problems" 2>/dev/null
        [ -z "$2" ] || printf '%s\t%s\n' "$1" "$2"
    } >"$AGENTS_RUN/problems.$$" && mv -f "$AGENTS_RUN/problems.$$" "$AGENTS_RUN/problems"
}

# Show a message of ours in every attached client; without one it waits for the driver, which runs when one is drawn.
agents_say() {
    # display-message expands what it shows; our own words need no format.
    agents_text=$(printf '%s' "agents.tmux: $1" | tr -d '#%' | tr '\n\t' '  ')
    agents_shown=
    while IFS= read -r agents_client; do
        [ -n "$agents_client" ] || continue
        agents_tmux display-message -d 6000 -c "$agents_client" "$agents_text" && agents_shown=1
    done <<CLIENTS
$(agents_tmux list-clients -F '#{client_name}' 2>/dev/null)
CLIENTS
    [ -n "$agents_shown" ] || [ ! -d "${AGENTS_RUN:-}" ] || printf '%s\n' "$1" >>"$AGENTS_RUN/messages"
}

# A lock that dies with its holder: a directory with the holder's pid. Whoever finds a dead one moves it away, then tries.
agents_lock() {
    agents_tries=3
    while [ "$agents_tries" -gt 0 ]; do
        if mkdir "$1" 2>/dev/null; then
            echo "$$" >"$1/pid"
            return 0
        fi
        agents_holder=
        [ -r "$1/pid" ] && read -r agents_holder <"$1/pid"
        if [ -n "$agents_holder" ]; then
            kill -0 "$agents_holder" 2>/dev/null && return 1
        else
            # Made this moment, or its holder died before it wrote its name.
            sleep 1
            [ -s "$1/pid" ] && return 1
        fi
        mv "$1" "$1.$$" 2>/dev/null && rm -rf "$1.$$"
        agents_tries=$((agents_tries - 1))
    done
    return 1
}
