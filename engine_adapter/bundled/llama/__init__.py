"""The only package that speaks to llama.cpp, through its low-level C interface.

The conventions of ``llama_decode`` are those of llama.h. Knows no requests and no text of people
beyond turning it into tokens.
"""
