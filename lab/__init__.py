"""The lab: real agents in a private tmux against a model server of ours, to see which screen rules still hold."""
