"""A tiny language whose next token depends on all earlier ones, and plain searches in it.

The searches are ordinary Python on float64, without batches, arrays of hypotheses or stopping.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from keras import ops

from model.config import SearchConfig
from model.search.search import Prediction, Translations, search
from model.search.state import Ancestry, Cache
from tests.helpers.small_models import numpy

PADDING, END = 0, 1
SOURCE_LENGTH = 4
_STATES = 1009

Hypothesis = tuple[float, tuple[int, ...]]


class ToyLanguage:
    """Logits looked up by a hash of the prefix, which is computed from the states of the past."""

    def __init__(self, vocabulary_size: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.logits = random.normal(0.0, 2.0, (_STATES, vocabulary_size)).astype(np.float32)
        self.attention = random.dirichlet([0.3] * SOURCE_LENGTH, _STATES).astype(np.float32)
        self.steps = 0
        self.sentences = 0  # summed over all steps
        self.cache_sizes: list[tuple[int, int]] = []  # of each step: entries, and room for more

    def step(self, tokens: Any, position: Any, ancestry: Ancestry, cache: Cache) -> Prediction:
        """Each entry of the past is a state and its position, counted from 1."""
        width, capacity = tokens.shape[1], ops.shape(cache.past)[2]
        room = capacity - ancestry.num_entries
        tf.numpy_function(self._record, [ops.shape(tokens)[0], ancestry.num_entries, room], [])
        earlier = ancestry.ancestors & (ops.arange(capacity) < ancestry.num_entries)  # [B, W, E]
        newest = ops.argmax(ops.where(earlier, cache.past[:, :, :, 1], 0), axis=2)  # [B, W]
        before = ops.take_along_axis(cache.past[:, 0, :, 0], newest, axis=1)
        before = ops.where(position == 0, cache.fixed[:, None], before)
        states = _next_state(before, tokens, position)  # [B, W]
        positions = ops.convert_to_tensor(ops.ones_like(states) * (position + 1))
        new = ops.stack([states, positions], axis=2)[:, None]
        ahead, behind = ancestry.num_entries, room - width
        return Prediction(
            ops.take(self.logits, states, axis=0),
            cache.past + ops.pad(new, ((0, 0), (0, 0), (ahead, behind), (0, 0))),
            ops.take(self.attention, states, axis=0),
        )

    def find(self, starts: Any, limits: Any, config: SearchConfig, **options: Any) -> Translations:
        """Runs the search under test."""
        starts = ops.convert_to_tensor(starts)
        past = ops.zeros((ops.shape(starts)[0], 1, 0, 2), dtype=starts.dtype)
        return search(
            self.step,
            Cache(past, fixed=starts),
            length_limits=ops.convert_to_tensor(limits),
            config=config,
            **options,
        )

    def _record(self, sentences: int, num_entries: int, room: int) -> None:
        """Records one step, also of a search in a graph."""
        self.steps += 1
        self.sentences += int(sentences)
        self.cache_sizes.append((int(num_entries), int(room)))

    def trace(
        self, config: SearchConfig
    ) -> Callable[[list[int], list[int]], list[list[Hypothesis]]]:
        """`search` as a graph: faster than eager operations from some thirty steps on."""
        signature = tf.TensorSpec([None], tf.int32)
        in_graph = tf.function(
            lambda starts, limits: self.find(starts, limits, config),
            input_signature=[signature, signature],
            autograph=False,
        )
        return lambda starts, limits: hypotheses(in_graph(starts, limits))

    def search(
        self, starts: list[int], limits: list[int], config: SearchConfig, **options: Any
    ) -> list[list[Hypothesis]]:
        """Runs the search under test and cuts its translations after their end symbol."""
        return hypotheses(self.find(starts, limits, config, **options))

    def log_probs(self, state: int) -> np.ndarray:
        logits = np.float64(self.logits[state])
        return logits - np.log(np.exp(logits).sum())


def hypotheses(translations: Translations) -> list[list[Hypothesis]]:
    """Cuts translations after their end symbol and drops those that do not exist."""
    return [
        [
            (float(score), _cut(row))
            for score, row in zip(scores, tokens.tolist(), strict=True)
            if any(row)
        ]
        for scores, tokens in zip(
            numpy(translations.scores), numpy(translations.tokens), strict=True
        )
    ]


def _cut(row: list[int]) -> tuple[int, ...]:
    """Returns the tokens up to the end symbol; only padding may follow."""
    end = row.index(END) + 1
    assert set(row[end:]) <= {PADDING}
    return tuple(row[:end])


def _next_state(state: Any, token: Any, position: Any) -> Any:
    return (state * 31 + token * 17 + position * 7 + 3) % _STATES


def states(start: int, tokens: tuple[int, ...]) -> list[int]:
    """The states in which the tokens are predicted."""
    visited, state = [], start
    for position, token in enumerate((PADDING, *tokens[:-1])):
        state = _next_state(state, token, position)
        visited.append(state)
    return visited


def score(
    language: ToyLanguage, start: int, tokens: tuple[int, ...], config: SearchConfig
) -> float:
    """The score of a translation by its definition (Wu et al. 2016, §7)."""
    visited = states(start, tokens)
    total = sum(
        language.log_probs(state)[token] for state, token in zip(visited, tokens, strict=True)
    )
    length, alpha = len(tokens), config.length_penalty
    gnmt = config.length_penalty_form == "gnmt"
    penalty = ((5 + length) / 6) ** alpha if gnmt else length**alpha
    covered = np.minimum(np.float64(language.attention[visited]).sum(axis=0), 1.0)
    return total / penalty + config.coverage_penalty * np.log(covered).sum()


def is_allowed(
    tokens: tuple[int, ...], limit: int, config: SearchConfig, prefix: tuple[int, ...] = ()
) -> bool:
    """Tells whether the rules let a translation begin with `tokens`."""
    size, length = config.no_repeat_ngram, len(tokens)
    if length <= len(prefix) or length == limit:
        expected = prefix[length - 1] if length <= len(prefix) else END
        return tokens[-1] == expected
    if tokens[-1] == PADDING or (tokens[-1] == END and length < config.min_length):
        return False
    ngrams = [tokens[i : i + size] for i in range(length - size + 1)] if size else []
    return not ngrams or ngrams[-1] not in ngrams[:-1]


def search_everything(
    language: ToyLanguage,
    start: int,
    limit: int,
    config: SearchConfig,
    prefix: tuple[int, ...] = (),
) -> list[Hypothesis]:
    """All translations of at most `limit` tokens that the rules allow, best first."""
    complete: list[tuple[int, ...]] = []
    live: list[tuple[int, ...]] = [()]
    while live:
        grown = [(*tokens, token) for tokens in live for token in range(language.logits.shape[1])]
        grown = [tokens for tokens in grown if is_allowed(tokens, limit, config, prefix)]
        complete += [tokens for tokens in grown if tokens[-1] == END]
        live = [tokens for tokens in grown if tokens[-1] != END]
    scored = ((score(language, start, tokens, config), tokens) for tokens in complete)
    return sorted(scored, reverse=True)


def search_plainly(
    language: ToyLanguage,
    start: int,
    limit: int,
    config: SearchConfig,
    prefix: tuple[int, ...] = (),
) -> list[Hypothesis]:
    """Beam search that always runs to the limit; beam size 1 is greedy search."""
    *_, (_, finished) = grow_plainly(language, start, limit, config, prefix)
    return finished


def grow_plainly(
    language: ToyLanguage,
    start: int,
    limit: int,
    config: SearchConfig,
    prefix: tuple[int, ...] = (),
) -> Iterator[tuple[list[Hypothesis], list[Hypothesis]]]:
    """Yields the live hypotheses with their sums, and the finished ones with their scores."""
    live: list[Hypothesis] = [(0.0, ())]
    finished: list[Hypothesis] = []
    for _ in range(limit):
        extended = []
        for total, tokens in live:
            state = states(start, (*tokens, PADDING))[-1]
            for token, log_prob in enumerate(language.log_probs(state)):
                if is_allowed((*tokens, token), limit, config, prefix):
                    extended.append((total + log_prob, (*tokens, token)))
        extended.sort(reverse=True)
        extended = extended[: 2 * config.beam_size if config.beam_size > 1 else 1]
        ended = [tokens for _, tokens in extended if tokens[-1] == END]
        finished += [(score(language, start, tokens, config), tokens) for tokens in ended]
        finished = sorted(finished, reverse=True)[: config.n_best]
        live = [hypothesis for hypothesis in extended if hypothesis[1][-1] != END]
        live = live[: config.beam_size]
        yield live, finished
