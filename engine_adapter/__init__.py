"""Tokens, engines and HTTP: everything between a request and its words.

Knows no Django, no user and no database; it could be published alone.
"""
