"""Conversations as a message tree, and everything a reader sees."""
