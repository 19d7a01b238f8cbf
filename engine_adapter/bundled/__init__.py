"""The engine that comes with the house: llama.cpp, batched across everybody who asks.

Only ``llama.py`` knows llama.cpp, and only the worker process imports it.
"""
