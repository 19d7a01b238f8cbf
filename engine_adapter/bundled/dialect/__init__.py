"""OpenAI's dialect, the server's side. Pure: bytes and JSON values in, requests out, and back.

``asked`` reads what a body asks for (``messages`` and ``sampling`` are its parts, ``fields`` reads
JSON), ``told`` writes the frames of an answer, ``whole`` the reply that is not streamed,
``listing`` everything that is no answer.
"""
