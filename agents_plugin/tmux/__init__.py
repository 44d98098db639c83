"""The only package that runs tmux."""
