"""Engines that stand behind HTTP: one file a dialect, one file that opens connections."""
