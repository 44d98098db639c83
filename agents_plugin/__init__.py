"""agents.tmux: which tmux panes hold coding agents, and which of them waits for you.

A pane is observed, identified, read, folded, planned and written; each verb is one module.
"""

__version__ = "0.1.0"
