"""One machine's Konak: six processes started, watched and stopped together.

Knows commands, sockets, files and signals. Standard library only, and it knows no Django.
"""
