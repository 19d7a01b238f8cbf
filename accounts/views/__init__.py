"""The pages of accounts. Each view checks, calls one verb, and renders."""
