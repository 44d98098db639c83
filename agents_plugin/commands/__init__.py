"""The commands of `scripts/agents`, one file each."""
