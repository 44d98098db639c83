# Shared by our shell scripts, which source it after setting AGENTS_HOME (the plugin's directory). POSIX sh.

# AGENTS_SERVER, AGENTS_SOCKET: pid and socket of the tmux server around us, from TMUX (socket,pid,session; the socket may
# hold commas).
agents_server() {
    AGENTS_SERVER=${TMUX:-}
    AGENTS_SERVER=${AGENTS_SERVER%,*}
    AGENTS_SOCKET=${AGENTS_SERVER%,*}
    AGENTS_SERVER=${AGENTS_SERVER##*,}
    case $AGENTS_SERVER in '' | *[!0-9]*) return 1 ;; esac
}

# Whether our server has ended: what works for it in the background ends too. One of another user may not be signalled.
agents_gone() {
    ! kill -0 "${AGENTS_SERVER:-0}" 2>/dev/null && ! ps -p "${AGENTS_SERVER:-0}" >/dev/null 2>&1
}

# AGENTS_PLACE: the value of an XDG variable, else the default. A relative one is ignored, as the XDG specification wants.
agents_xdg() { # value, default
    case $1 in
    /*) AGENTS_PLACE=$1 ;;
    *) AGENTS_PLACE=$2 ;;
    esac
}

# AGENTS_KEY: the name of this server's directory: its pid, and the boot and the pid namespace that one counts in. The same
# as agents_plugin/host/directories.py, as all of this.
agents_key() {
    AGENTS_KEY=$AGENTS_SERVER
    agents_boot=
    [ ! -r /proc/sys/kernel/random/boot_id ] || read -r agents_boot </proc/sys/kernel/random/boot_id
    agents_boot=${agents_boot%%-*}
    case $agents_boot in '' | *[!0-9a-f]*) return 0 ;; esac
    agents_space=$(ls -l /proc/self/ns/pid 2>/dev/null)
    agents_space=${agents_space##*'pid:['}
    agents_space=${agents_space%']'}
    case $agents_space in *[!0-9]*) agents_space= ;; esac
    AGENTS_KEY=$AGENTS_SERVER.$agents_boot-$agents_space
}

# Whether a directory is there, ours and no link; a file, ours, no link and no FIFO. No process.
agents_own() { [ -d "$1" ] && [ ! -h "$1" ] && [ -O "$1" ]; }
agents_own_file() { [ -f "$1" ] && [ ! -h "$1" ] && [ -O "$1" ]; }

# Whether nobody else may write it; `agents_links` and `agents_owner` are the next two columns.
agents_closed() { # directory or file, a pattern of modes that are good as well
    agents_mode='' agents_owner=''
    read -r agents_mode agents_links agents_owner agents_rest <<FACTS
$(ls -ldn "$1" 2>/dev/null)
FACTS
    case $agents_mode in
    [d-]????-??-*) ;;
    ${2:-x}) ;;
    *) return 1 ;;
    esac
}

# Whether nobody but us and root can rename what is ours in this directory.
agents_sheltered() {
    agents_closed "$1/." 'd????????[tT]*' && { [ "$agents_owner" = 0 ] || [ -O "$1" ]; }
}

# Make a directory when it is missing; 1 when it is not ours alone (a link, another owner, writable by others).
agents_private() {
    [ -d "$1" ] || mkdir -m 700 "$1" 2>/dev/null
    agents_own "$1" && agents_closed "$1"
}

# AGENTS_RUN: the runtime directory of this server, in the first place that is ours alone, made when missing; else 1.
agents_runtime() {
    agents_server || return 1
    agents_key
    agents_xdg "${XDG_RUNTIME_DIR:-}" ''
    if [ -n "$AGENTS_PLACE" ] && [ -d "$AGENTS_PLACE" ] && [ -O "$AGENTS_PLACE" ] && agents_sheltered "$AGENTS_PLACE"; then
        agents_settle "${AGENTS_PLACE%/}/agents.tmux" && return 0
    fi
    agents_xdg "${TMPDIR:-}" /tmp
    agents_sheltered "$AGENTS_PLACE" && agents_settle "${AGENTS_PLACE%/}/agents.tmux-$(id -u)" && return 0
    agents_xdg "${HOME:-}" ''
    [ -n "$AGENTS_PLACE" ] && [ -d "$AGENTS_PLACE" ] && [ -O "$AGENTS_PLACE" ] || return 1
    agents_base=${AGENTS_PLACE%/}/.local/state/agents.tmux
    [ -d "${agents_base%/*}" ] || mkdir -p "${agents_base%/*}" 2>/dev/null
    agents_private "$agents_base" && agents_settle "$agents_base/run"
}

agents_settle() { # base
    AGENTS_RUN=$1/$AGENTS_KEY
    agents_private "$1" && agents_private "$AGENTS_RUN"
}

# Whether the AGENTS_RUN we were given is still ours alone. No process.
agents_given() {
    case ${AGENTS_RUN:-} in /*/*) agents_own "${AGENTS_RUN%/*}" && agents_own "$AGENTS_RUN" ;; *) return 1 ;; esac
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
        case $agents_file in
        '') continue ;;
        "$AGENTS_DATA/python") ;;
        *) agents_given && agents_own_file "$agents_file" && agents_closed "$agents_file" || continue ;;
        esac
        [ -f "$agents_file" ] && [ -r "$agents_file" ] && IFS= read -r AGENTS_PYTHON <"$agents_file"
        [ -f "$AGENTS_PYTHON" ] && [ -x "$AGENTS_PYTHON" ] && return 0
    done
    AGENTS_PYTHON=
    return 1
}

# The one way our shell calls tmux: at the socket of the server around us, which it never starts (list-keys and others
# would; -N came with 3.2). Also when PATH is too short: then the server's own executable, or where it usually is.
# -u keeps glyphs. AGENTS_OLD leaves out -N, which an older tmux refuses.
agents_tmux() {
    [ -n "${AGENTS_SOCKET:-}" ] || agents_server || return 1
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
    if [ -n "${AGENTS_OLD:-}" ]; then
        "$AGENTS_TMUX" -u -S "$AGENTS_SOCKET" "$@"
    else
        "$AGENTS_TMUX" -u -N -S "$AGENTS_SOCKET" "$@"
    fi
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
    agents_given || return 0
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
    [ -n "$agents_shown" ] || ! agents_given || printf '%s\n' "$1" >>"$AGENTS_RUN/messages"
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
