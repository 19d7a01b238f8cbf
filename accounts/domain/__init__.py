"""The verbs of accounts: no request, no HTML in here."""
