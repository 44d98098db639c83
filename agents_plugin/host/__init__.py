"""What the machine knows: processes, agents' own records, the runtime directory, the clock."""
