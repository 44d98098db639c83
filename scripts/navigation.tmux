# Focus clearing and navigation, in tmux's own language: no process is started, so all of it works with no Python alive.
# agents.tmux sources this file; the rollup, the poke and the driver are looked up by name when they are needed.

# Arriving at a pane, and leaving one. AGENTS_AT (hidden, per session, absent while nobody is attached to it) is the pane
# the session showed before: tmux's own {last} names a pane nobody left after kill-pane, kill-window, switch-client -t %p.
# AGENTS_BEAT is when the helper last passed: a minute before the last key it is dead, and no status line need be drawn to
# revive it. Setting it here makes that one try a minute.
%hidden AGENTS_BODY='\
if-shell -F "#{&&:#{window_active},#{!=:#{AGENTS_AT},#{pane_id}}}" {\
  if-shell -F "#{?#{m/r:^(dwell|input)$,#{@agents-clear-on}},,#{window_active_clients}}" {\
    if-shell -F "#{@agent_attention}" { set-option -pqu @agent_attention ; set-environment -gh AGENTS_CLEARED 1 } ;\
    if-shell -F "#{m:%*,#{AGENTS_AT}}" {\
      run-shell -C "if-shell -F -t \"#{AGENTS_AT}\" \"##{&&:##{==:##{pane_id},#{AGENTS_AT}},##{@agent_attention}}\" \
        { set-option -pqu -t \"#{AGENTS_AT}\" @agent_attention ; set-environment -gh AGENTS_CLEARED 1 }"\
    }\
  } ;\
  if-shell -F "#{session_attached}" { set-environment -hF AGENTS_AT "#{pane_id}" } ;\
  if-shell -F "#{e|>|:#{session_activity},#{e|+|:#{AGENTS_BEAT},60}}" {\
    set-environment -ghF AGENTS_BEAT "#{session_activity}" ; run-shell -b "#{AGENTS_POKE}"\
  } ;\
  if-shell -F "#{AGENTS_CLEARED}" {\
    set-environment -ghu AGENTS_CLEARED ; run-shell -C agents-rollup ; run-shell -b "#{AGENTS_POKE}"\
  }\
}'

# window-pane-changed sees every change of a pane that after-select-pane sees, and last-pane, switch-client -t %p and
# kill-pane too; the second is there for people whose own window-level hook masks the first.
set-hook -g window-pane-changed[4710] "$AGENTS_BODY"
set-hook -g after-select-pane[4710] "$AGENTS_BODY"
set-hook -g session-window-changed[4710] "$AGENTS_BODY"
set-environment -ghu AGENTS_BODY

# Clients that come and go decide what is being looked at.
%hidden AGENTS_BODY='run-shell -C \
"#{S:#{?session_attached,set-environment -h -t \"#{session_id}\" AGENTS_AT \"#{pane_id}\",\
set-environment -hu -t \"#{session_id}\" AGENTS_AT} ; }"'
set-hook -g client-session-changed[4710] "$AGENTS_BODY"
set-hook -g client-detached[4710] "$AGENTS_BODY"
run-shell -C '#{S:#{?session_attached,set-environment -h -t "#{session_id}" AGENTS_AT "#{pane_id}",\
set-environment -hu -t "#{session_id}" AGENTS_AT} ; }'
set-environment -ghu AGENTS_BODY

# The terminal gets the focus back (with focus-events on): what it shows is seen.
set-hook -g client-focus-in[4710] '\
if-shell -F "#{?#{m/r:^(dwell|input)$,#{@agents-clear-on}},,#{@agent_attention}}" {\
  set-option -pqu @agent_attention ; run-shell -C agents-rollup ; run-shell -b "#{AGENTS_POKE}"\
}'

# A pane that is killed must not leave its count behind.
set-hook -g window-layout-changed[4710] 'if-shell -F "#{@agent_summary}" { run-shell -C agents-rollup }'

# A program reports itself: the helper takes it up now and not with its next pass. Our own writes carry -q. The token that
# is published already looks like ours, so AGENTS_<n>_SAID says that it was written again, after another one (1) or not
# (0), and when; from a program that repeats its report that can wait for the next pass.
set-environment -gh AGENTS_CLOCK '%s'
set-hook -g after-set-option[4710] 'if-shell -F "#{?#{==:#{hook_argument_0},@agent_state},#{!=:#{hook_flag_q},1},}" {\
  run-shell -C "if-shell -F -t \"#{pane_id}\" \"##{!=:##{@agent_state},##{AGENTS_#{s/%//:pane_id}_PUB}}\" \
    { set-environment -gh AGENTS_#{s/%//:pane_id}_SAID 1 ; run-shell -b \"##{AGENTS_POKE}\" } {\
      if-shell -F -t \"#{pane_id}\" \"##{@agent_state}\" {\
        set-environment -ghF AGENTS_#{s/%//:pane_id}_SAID \
          \"##{?##{m:1*,##{AGENTS_#{s/%//:pane_id}_SAID}},1,0}.##{T:AGENTS_CLOCK}\" ;\
        if-shell -F -t \"#{pane_id}\" \"##{!=:##{@agent_source}##{AGENTS_#{s/%//:pane_id}_SAID},report0.##{T:AGENTS_CLOCK}}\" \
          { run-shell -b \"##{AGENTS_POKE}\" }\
      }\
    }"\
}'

# Jump: the first pane that needs you in @agents_queue, rotated to begin after the current pane; panes that need you and
# are not queued (no helper alive) come then, the current one last. Only ids that tmux itself lists can come out of the expression.
# The + keep the groups from being empty: tmux writes the digit of an empty group.
set-option -s command-alias[4711] 'agents-jump=\
set-environment -ghF AGENTS_TO "#{pane_id}" ;\
set-environment -ghF AGENTS_NEED "#{S:#{W:#{P:#{?#{||:#{m/r:^(blocked|needs_input),#{=40:@agent_state}},#{@agent_attention}},#{pane_id} |,}}}}!" ;\
set-environment -ghF AGENTS_ORDER "#{s|^(.*)#{pane_id} (.*)$|\\2\\1|:+#{@agents_queue}+}\
#{S:#{W:#{P:#{?#{||:#{m/r:^(blocked|needs_input),#{=40:@agent_state}},#{@agent_attention}},\
#{?#{m:*#{pane_id} *,#{@agents_queue}#{AGENTS_TO} },,#{pane_id} },}}}}#{pane_id} !" ;\
set-environment -ghF AGENTS_TO "#{s| ||:#{s|^.*=||:#{s|(#{AGENTS_NEED})(.*)$|=\\1|:AGENTS_ORDER}}}" ;\
if-shell -F "#{==:#{AGENTS_TO},!}" {\
  display-message "agents.tmux: no agent waits for you"\
} {\
  if-shell -F "#{==:#{AGENTS_TO},#{pane_id}}" {\
    display-message "agents.tmux: no other agent waits for you"\
  } {\
    run-shell -C "if-shell -F \"##{!=:##{AGENTS_LAND_#{client_pid}},#{pane_id}}\" \
      { set-environment -gh AGENTS_BACK_#{client_pid} \"#{session_id}.#{pane_id}\" }" ;\
    run-shell -C "set-environment -gh AGENTS_LAND_#{client_pid} \"#{AGENTS_TO}\"" ;\
    set-environment -ghF AGENTS_IN "#{s|[.].*$|.|:#{W:#{P:#{?#{==:#{pane_id},#{AGENTS_TO}},#{session_id}:#{window_id}.,}}}}" ;\
    run-shell -C "switch-client -Z -t \"#{AGENTS_IN}#{AGENTS_TO}\""\
  } ;\
  run-shell -C "if-shell -F -t \"#{AGENTS_TO}\" \"##{&&:##{==:##{pane_id},#{AGENTS_TO}},##{@agent_attention}}\" \
    { set-option -pqu -t \"#{AGENTS_TO}\" @agent_attention ; run-shell -C agents-rollup ; run-shell -b \"##{AGENTS_POKE}\" }"\
}'

# Back to where the jumps of this client began; pressed again, to where it came from. The pane may have moved since.
set-option -s command-alias[4712] 'agents-back=\
run-shell -C "set-environment -ghF AGENTS_TO \"##{AGENTS_BACK_#{client_pid}}\"" ;\
set-environment -ghF AGENTS_NEED "#{s|^.*[.]||:AGENTS_TO}" ;\
if-shell -F "#{m:%*,#{AGENTS_NEED}}" {\
  if-shell -F "#{S:#{W:#{P:#{?#{==:#{pane_id},#{AGENTS_NEED}},1,}}}}" {\
    set-environment -ghF AGENTS_IN "#{s|[.].*$|.|:\
#{S:#{W:#{P:#{?#{==:#{session_id}.#{pane_id},#{AGENTS_TO}},#{session_id}:#{window_id}.,}}}}}" ;\
    run-shell -C "set-environment -gh AGENTS_BACK_#{client_pid} \"#{session_id}.#{pane_id}\" ; \
      switch-client -Z -t \"#{AGENTS_IN}#{AGENTS_NEED}\""\
  } {\
    display-message "agents.tmux: the pane you came from is gone"\
  }\
} {\
  display-message "agents.tmux: you have not jumped yet"\
}'

# tmux's own tree, only agents, state first. q/h shows a style or a format in somebody's text literally;
# the text we publish has its # doubled already, a report no pass has seen yet has not.
set-option -s command-alias[4713] 'agents-list=\
if-shell -F "#{S:#{W:#{P:#{@agent_state}}}}" {\
  choose-tree -Z -f "#{@agent_state}" -F "\
#{?#{||:#{pane_format},#{&&:#{window_format},#{==:#{window_panes},1}}},\
#{p8:#{?#{&&:#{==:#{@agent_state},idle},#{@agent_attention}},done,#{=40:#{q/h:@agent_state}}}} #{=40:#{q/h:@agent_name}}\
#{?@agent_detail, (#{=40:#{q/h:@agent_detail}}),}#{?window_format, #{=80:#{q/h:window_name}},} #{=40:#{q/h;s/([#][#])[#][#]/\\1/:@agent_status_text}},\
#{?window_format,#{=80:#{q/h:window_name}} #{=80:#{q/h:@agent_summary}},#{=80:#{q/h:@agent_session_summary}}}}"\
} {\
  display-message "agents.tmux: no agent in any pane"\
}'
