"""The verbs of chat: no request, no socket, no HTML in here."""
