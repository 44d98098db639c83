# Options that take effect when they are set, also on a running server: the entry is run again, once for all that change
# together. With `@agents-enabled off` it takes everything away but this hook, which hears of `on`.
set-hook -g after-set-option[4711] '\
if-shell -F "#{?#{m/r:^@agents-(enabled|monitor|python|(jump|back|list|jump-fallback)-key)$,#{hook_argument_0}},\
#{!=:#{AGENTS_CHANGED},1},}" { set-environment -gh AGENTS_CHANGED 1 ; run-shell -b "#{AGENTS_LOAD}" }'
