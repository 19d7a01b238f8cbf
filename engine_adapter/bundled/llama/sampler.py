"""How one answer's tokens are drawn: few candidates of many, a chain in C, a grammar's consent."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Sequence as Many

import llama_cpp.llama_cpp as C
import numpy as np
from numpy.typing import NDArray

from engine_adapter.bundled.config import Defaults
from engine_adapter.bundled.llama import grammar
from engine_adapter.bundled.llama.chain import WINDOW, Chain, check
from engine_adapter.bundled.llama.matcher import Matcher
from engine_adapter.bundled.llama.vocabulary import Vocabulary
from engine_adapter.bundled.schemas import to_grammar
from engine_adapter.bundled.sequence import Drawn
from engine_adapter.errors import Broken
from engine_adapter.types import Sampling, TokenLogprob

BLOCKS = 64
FREE_REACH = 512  # fitting candidates that are looked for where the sampling itself sets no number

Logits = NDArray[np.float32]
Ids = NDArray[np.integer]


class Sampler:
    """Draws the tokens of one answer. ``prompt`` is what penalties count besides the answer.

    Made in any thread, used and closed in the one that owns the context. Raises ``Refused`` for
    what no sampler can be made of.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        sampling: Sampling,
        defaults: Defaults,
        prompt: Many[int] = (),
    ) -> None:
        check(sampling, vocabulary)
        self._vocabulary = vocabulary
        self._row = ctypes.c_float * vocabulary.size
        self._seen_at = 0
        self._seen: Logits = np.zeros(0, np.float32)
        self._endless = sampling.ignore_eos
        self._logprobs = sampling.logprobs
        self._matcher = _matcher(sampling)
        if self._matcher:
            # Computed now and not between two steps.
            _ = vocabulary.openings, vocabulary.enders, vocabulary.lexicon
        self._chain = Chain(vocabulary, sampling, defaults, prompt)
        self._recent = deque(prompt[-WINDOW:] if self._chain.looks_back else (), WINDOW)

    def draw(self, context: C.llama_context_p, row: int) -> Drawn:
        """The next token, from the logits of this row of the last batch. Raises ``Broken``.

        Microseconds of 49,152 tokens, 8 in a row just after a step, on a busy machine; in brackets
        ``llama_sampler_sample`` with the whole chain: greedy 38 (175), the defaults 81 (191),
        penalties 104 (428), DRY 107 (321), both with a bias 115 (610), no top-k 960 (890), the
        defaults with 5 logprobs 220; a draw that a grammar allows some 40 more, one that it
        refuses 300 to 1,500.
        """
        logits = self._view(context, row)
        token = self._choose(logits)
        if self._chain.looks_back:
            self._chain.accept(token)
            self._recent.append(token)
        if self._logprobs is None:
            return Drawn(token)
        return Drawn(token, self._told(logits, token, self._logprobs))

    def close(self) -> None:
        """Free what C holds."""
        self._chain.close()

    def _view(self, context: C.llama_context_p, row: int) -> Logits:
        pointer = C.llama_get_logits_ith(context, row)
        if not pointer:
            raise Broken("The engine computed no logits for this answer.")
        address = ctypes.addressof(pointer.contents)
        if address != self._seen_at:  # the buffer stays where it is as long as the context's form
            self._seen_at = address
            self._seen = np.frombuffer(memoryview(self._row.from_address(address)), np.float32)
        return self._seen

    def _choose(self, logits: Logits) -> int:
        """Draw freely; only where that does not fit, look for what does."""
        if self._chain.simple:
            token = int(logits.argmax())  # of a NaN, if there is one
            if not np.isfinite(logits[token]):
                raise _no_numbers()
        else:
            ids = self._candidates(logits)
            token = self._chain.draw(ids, logits[ids])
        if not self._fits(token):
            ids = self._fitting(logits)
            token = self._chain.draw(ids, logits[ids])
        if self._matcher and token not in self._vocabulary.enders:
            self._matcher.take(self._vocabulary.piece(token))
        return token

    def _touched(self) -> list[int]:
        """Tokens whose logits the chain changes; all others keep their order."""
        return [*{*self._recent, *self._chain.biased}]

    def _candidates(self, logits: Logits) -> Ids:
        """So many of the best that the chain draws from them exactly what it would from all."""
        if not self._chain.reach:
            if not np.isfinite(logits.max()):
                raise _no_numbers()
            return np.arange(len(logits))
        touched = self._touched()
        best = top(logits, self._chain.reach + len(touched))
        return np.union1d(best, touched).astype(np.int32) if touched else best

    def _fits(self, token: int) -> bool:
        if self._matcher is None:
            return not (self._endless and self._vocabulary.ends(token))
        if token in self._vocabulary.enders:
            return self._matcher.complete and not self._endless
        return self._matcher.allows(self._vocabulary.piece(token))

    def _fitting(self, logits: Logits) -> Ids:
        """The same, of what fits. Where a grammar is at its end, an end is all that is left."""
        touched = self._touched()
        found = [token for token in touched if self._fits(token)]
        need = (self._chain.reach or FREE_REACH) + len(touched)
        found += self._best_fitting(logits, need, set(touched))
        if not found and self._matcher and self._matcher.complete:
            found = list(self._vocabulary.enders)
        if not found:
            raise Broken("The grammar asks for what this model's tokens cannot write.")
        return np.array(found, np.int32)

    def _best_fitting(self, logits: Logits, need: int, known: set[int]) -> list[int]:
        """The best that fit and are not known: ``need`` of them, or all there are, or more.

        Mostly they are near the top. Where few fit at all, these few are found from their texts.
        Else everything that may fit by its first byte is tried in order.
        """
        found: list[int] = []
        tried: set[int] = set()
        if self._matcher is None or self._matcher.here.fitting is None:
            found, tried = self._first_fitting(logits, need + WINDOW, need, known)
            if len(found) == need:
                return found
        if (fitting := self._all_fitting()) is not None:
            return [token for token in fitting if token not in known]
        masked = self._masked(logits)
        for count in (2048, len(logits)):
            known = known | tried
            more, tried = self._first_fitting(masked, count, need - len(found), known)
            found += more
            if len(found) == need:
                break
        return found

    def _first_fitting(
        self, logits: Logits, count: int, need: int, known: set[int]
    ) -> tuple[list[int], set[int]]:
        """Up to ``need`` that fit of the ``count`` best, and all that were tried."""
        found: list[int] = []
        tried: set[int] = set()
        ids = top(logits, count)
        for token in ids[np.argsort(-logits[ids], kind="stable")].tolist():
            if token in known or logits[token] == -np.inf:
                continue
            tried.add(token)
            if self._fits(token):
                found.append(token)
                if len(found) == need:
                    break
        return found, tried

    def _all_fitting(self) -> list[int] | None:
        """All that fit, or None where these are too many to be listed."""
        if self._matcher is None:
            return None
        fitting = self._vocabulary.lexicon.fitting(self._matcher)
        if fitting is None:
            return None
        return [*fitting, *filter(self._fits, self._vocabulary.enders)]

    def _masked(self, logits: Logits) -> Logits:
        if self._matcher is None:
            return logits
        possible = np.append(self._matcher.openings(), False)[self._vocabulary.openings]
        possible[list(self._vocabulary.enders)] = True
        masked: Logits = np.where(possible, logits, np.float32(-np.inf))
        return masked

    def _told(self, logits: Logits, token: int, count: int) -> TokenLogprob:
        """What the model itself thought of the token, before anything was changed."""
        best = logits.max()
        total = float(best) + float(np.log(np.exp(logits - best, dtype=np.float64).sum()))
        spelling = self._vocabulary.spelling
        ids = top(logits, count) if count else np.zeros(0, np.int32)
        ids = ids[np.argsort(-logits[ids], kind="stable")][:count]
        alternatives = tuple((spelling(int(id_)), float(logits[id_]) - total) for id_ in ids)
        return TokenLogprob(spelling(token), float(logits[token]) - total, alternatives)


def _matcher(sampling: Sampling) -> Matcher | None:
    text = sampling.grammar
    if sampling.json_schema is not None:
        text = to_grammar(sampling.json_schema)
    return None if text is None else Matcher(grammar.parse(text))


def _no_numbers() -> Broken:
    return Broken("The model computed something that is no number for this answer.")


def top(logits: Logits, count: int) -> Ids:
    """The ``count`` greatest, and maybe more, in order of their ids. Raises ``Broken`` for NaN.

    Each of the ``count`` best columns holds one that is no less than the least column's best, so
    whatever is among the ``count`` greatest lies in these columns or is equal.
    """
    rows = len(logits) // BLOCKS
    # ``reduce`` and methods rather than numpy's functions, which are Python: just after a step the
    # caches are cold, and each such layer costs some 10 µs there.
    columns = np.maximum.reduce(logits[: BLOCKS * rows].reshape(BLOCKS, rows))
    first = max(rows - count, 0)
    columns.partition(first)  # NaN counts as the greatest
    if not np.maximum.reduce(columns[first:]) < np.inf:
        raise _no_numbers()
    if count >= rows:
        return np.arange(len(logits))
    best: Ids = (logits >= columns[first]).nonzero()[0]
    return best
