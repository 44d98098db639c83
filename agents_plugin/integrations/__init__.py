"""Putting our entries into agents' configurations, and taking them out again."""
