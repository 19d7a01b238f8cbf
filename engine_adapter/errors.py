"""Why an engine did not answer.

::

    EngineError
    ├── Unreachable       nothing listens there, or the line broke before an answer came
    ├── Overloaded        the engine is full; try again after ``retry_after`` seconds
    ├── Refused           the engine understood and said no (unknown model, bad value, no key)
    │   ├── ContextTooLong   the prompt does not fit; carries both numbers
    │   └── ModelChanged     the model's file is another one than was asked for
    └── Broken            the engine failed in the middle, or spoke what nobody understands

``str(error)`` is for logs and administrators and never contains prompt or answer text.
"""

from __future__ import annotations

from typing import Literal, Self

from engine_adapter.reasons import Reason

Cause = Literal[
    "name",  # the host's name is known to no name server
    "closed",  # the host is there and nothing listens at the port, or no such socket
    "private",  # the address is not on the open internet, and only that may be asked
    "proxy",  # the proxy that everything goes through does not answer
    "proxy_key",  # the proxy asks who is there
    "proxy_no",  # the proxy answers that it gives no line to this host
    "no_way",  # no way through the network to the host
    "silent",  # connected or not, no answer came in time
    "certificate",  # the certificate is not one to trust: expired, self-made, another host's
    "tls",  # one side speaks TLS and the other does not
    "redirect",  # the address sends on to another one
    "key",  # no key, or a wrong one
    "path",  # a server, but not at this path
    "dialect",  # a server, but what it says is not what was expected of this kind of engine
    "gateway",  # something stands before the engine and does not reach it
    "model",  # the engine does not serve this model
    "too_much",  # more than any engine has to say: an endless line, reply or list
]
"""What an administrator can do something about, as a word that a page can put into sentences."""


class EngineError(Exception):
    """Root of everything an engine can fail with. ``code`` is stable and machine-readable;
    ``cause`` is None where the kind of error says all there is to say, ``why`` where the message
    is no ``Reason``."""

    code = "engine_error"
    cause: Cause | None = None

    def __init__(self, message: str | Reason) -> None:
        super().__init__(str(message))
        self.why = message if isinstance(message, Reason) else None

    def because(self, cause: Cause) -> Self:
        """The same error, which now says what lies behind it."""
        self.cause = cause
        return self


class Unreachable(EngineError):
    """No connection, or it closed before the first byte of a reply."""

    code = "unreachable"


class Overloaded(EngineError):
    """The engine's line is full. ``retry_after`` is in seconds, ``None`` where it did not say."""

    code = "overloaded"

    def __init__(self, message: str | Reason, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Refused(EngineError):
    """The engine rejects this request; asking again unchanged is of no use."""

    code = "refused"


class ContextTooLong(Refused):
    """The prompt has ``prompt_tokens`` tokens, the model reads ``context_length``.

    Either is ``None`` where the engine did not tell the number.
    """

    code = "context_length_exceeded"

    def __init__(
        self, message: str, *, prompt_tokens: int | None, context_length: int | None
    ) -> None:
        super().__init__(message)
        self.prompt_tokens = prompt_tokens
        self.context_length = context_length


class ModelChanged(Refused):
    """The model's file is not the one whose SHA-256 the request names."""

    code = "model_changed"


class Broken(EngineError):
    """The engine died, stalled or sent nonsense after it had accepted the request."""

    code = "broken"
