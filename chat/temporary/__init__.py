"""A temporary chat: held by the process that serves its page's socket, and gone with the socket.

Nothing of it is written anywhere: no row, no queue, no log, no draft.
"""
