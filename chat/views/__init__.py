"""The pages of chat. Each view checks, calls one verb, and renders."""
