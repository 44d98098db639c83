"""The pure core: values in, a verdict out. No clock, no I/O, no tmux, no environment."""
