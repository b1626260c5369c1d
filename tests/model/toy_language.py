"""A tiny language whose next token depends on all earlier ones, and plain searches of it.

The searches are ordinary Python on float64, without batches, arrays of hypotheses or stopping.
"""

from typing import Any

import numpy as np
from keras import ops

from model.config import SearchConfig
from model.search import Translations, beam_search
from tests.model.small import numpy

PADDING, END = 0, 1
_STATES = 1009

Hypothesis = tuple[float, tuple[int, ...]]


class ToyLanguage:
    """Logits looked up by a hash of the prefix, which `step` keeps in its cache."""

    def __init__(self, vocabulary_size: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.logits = random.normal(0.0, 2.0, (_STATES, vocabulary_size)).astype(np.float32)
        self.steps = 0

    def step(self, tokens: Any, position: Any, cache: Any) -> tuple[Any, Any]:
        self.steps += 1
        states = _next_state(cache["states"], ops.reshape(tokens, (-1,)), position)
        logits = ops.take(self.logits, states, axis=0)
        return ops.reshape(logits, (*tokens.shape, -1)), {"states": states}

    def search(
        self, starts: list[int], limits: list[int], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """Runs the search under test; its translations are cut after their end symbol."""
        cache = {"states": ops.repeat(ops.convert_to_tensor(starts), config.beam_size)}
        length_limits = ops.convert_to_tensor(limits)
        found = beam_search(
            self.step, cache, length_limits=length_limits, end_id=END, config=config
        )
        return hypotheses(found)

    def log_probs(self, state: int) -> np.ndarray:
        logits = np.float64(self.logits[state])
        return logits - np.log(np.exp(logits).sum())


def hypotheses(found: Translations) -> list[list[Hypothesis]]:
    """Cuts translations after their end symbol and leaves out those that do not exist."""
    return [
        [
            (float(score), _cut(row))
            for score, row in zip(scores, tokens.tolist(), strict=True)
            if any(row)
        ]
        for scores, tokens in zip(numpy(found.scores), numpy(found.tokens), strict=True)
    ]


def _cut(row: list[int]) -> tuple[int, ...]:
    """Also checks that nothing but padding follows."""
    end = row.index(END) + 1
    assert set(row[end:]) <= {PADDING}
    return tuple(row[:end])


def _next_state(state: Any, token: Any, position: Any) -> Any:
    return (state * 31 + token * 17 + position * 7 + 3) % _STATES


def penalty(length: int, alpha: float) -> float:
    return ((5 + length) / 6) ** alpha


def search_everything(language: ToyLanguage, start: int, limit: int, alpha: float) -> list:
    """All translations of at most `limit` tokens, best first."""
    every_width = language.logits.shape[1] ** limit
    return search_plainly(language, start, limit, SearchConfig(every_width, alpha))


def search_plainly(
    language: ToyLanguage, start: int, limit: int, config: SearchConfig
) -> list[Hypothesis]:
    """Beam search that always runs to the limit; beam size 1 is greedy search."""
    live: list[tuple[float, tuple[int, ...], int]] = [(0.0, (), start)]
    finished: list[Hypothesis] = []
    for position in range(limit):
        extended = []
        for total, tokens, before in live:
            state = _next_state(before, tokens[-1] if tokens else PADDING, position)
            for token, log_prob in enumerate(language.log_probs(state)):
                if token == END or (token != PADDING and position + 1 < limit):
                    extended.append((total + log_prob, (*tokens, token), state))
        extended.sort(reverse=True)
        extended = extended[: 2 * config.beam_size if config.beam_size > 1 else 1]
        finished += [
            (total / penalty(position + 1, config.length_penalty), tokens)
            for total, tokens, _ in extended
            if tokens[-1] == END
        ]
        live = [each for each in extended if each[1][-1] != END][: config.beam_size]
    return sorted(finished, reverse=True)[: config.beam_size]
