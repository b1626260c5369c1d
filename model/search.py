"""Decoding: beam search as a pure function over a step callback (§6.1; Wu et al. 2016, §7).

    step(tokens [B, W], position, cache) → (logits [B, W, V], cache)

Everything in `cache` has B · W as its leading dimension and follows its hypothesis when the beam is
reordered; whatever is the same for all hypotheses of a sentence belongs in the callback's closure.

A sentence's result does not depend on the sentences beside it: each has its own length limit and
its own stopping rule, and rows that are done change no more.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from model.config import SearchConfig
from model.masks import PADDING_ID

Tensor = Any
Step = Callable[[Tensor, Tensor, Any], tuple[Tensor, Any]]

# Worse than any sum of log-probabilities, and finite, so that sums of it stay numbers.
_IMPOSSIBLE = -1e9


class Translations(NamedTuple):
    """What search returns, best first.

    tokens: int `[B, W, T]`, ending in the end symbol, then padding.
    scores: float32 `[B, W]`, log-probability in nats divided by the length penalty.
    """

    tokens: Tensor
    scores: Tensor


class _Beam(NamedTuple):
    """Search between two positions: live hypotheses grow, finished ones have met the end symbol."""

    position: Tensor  # int scalar: tokens that every live hypothesis has
    live_tokens: Tensor  # int [B, W, T]
    live_log_probs: Tensor  # float [B, W]
    finished_tokens: Tensor  # int [B, W, T]
    finished_scores: Tensor  # float [B, W], penalised
    cache: Any


def beam_search(
    step: Step,
    cache: Any,
    *,
    length_limits: Tensor,
    end_id: int,
    config: SearchConfig,
) -> Translations:
    """Finds the `beam_size` best translations of each sentence.

    Each position extends the live hypotheses by their 2 W best tokens; those that end compete with
    the finished ones by penalised score, the best W others live on. A sentence is done when no live
    hypothesis can reach a better score than its worst finished one. A width of 1 is greedy search.

    Args:
        step: predicts the next token; called first with padding, the start symbol, at position 0.
        cache: tensors or a structure of them, each with leading dimension B · W.
        length_limits: int32 `[B]`, longest translation in tokens, end symbol included, at least 1;
            at the limit only the end symbol may follow.
        end_id: the end symbol.
        config: beam size and length penalty.

    Returns:
        `beam_size` translations of each sentence, best first; where fewer exist within the limit,
        the rest are padding alone, with a score of −10⁹.
    """
    beam = _init(cache, length_limits, config.beam_size)
    best_penalty = length_penalty(length_limits, config.length_penalty)  # [B]

    def unfinished(*beam: Any) -> Tensor:
        return ops.any(~_is_done(_Beam(*beam), best_penalty, length_limits))

    def advance(*beam: Any) -> _Beam:
        return _grow(
            _Beam(*beam),
            step,
            length_limits=length_limits,
            best_penalty=best_penalty,
            end_id=end_id,
            alpha=config.length_penalty,
        )

    beam = _Beam(*ops.while_loop(unfinished, advance, tuple(beam)))
    return Translations(beam.finished_tokens, beam.finished_scores)


def length_penalty(length: Tensor, alpha: float) -> Tensor:
    """Returns ((5 + length) / 6)^α, float32, of lengths in tokens (Wu et al. 2016, §7)."""
    return ((5.0 + ops.cast(length, "float32")) / 6.0) ** alpha


def _init(cache: Any, length_limits: Tensor, width: int) -> _Beam:
    """One empty live hypothesis a sentence; the others are impossible until it has branched."""
    batch = ops.shape(length_limits)[0]
    longest = ops.max(length_limits, initial=1)  # of no sentences, too
    tokens = ops.full((batch, width, longest), PADDING_ID, dtype="int32")
    first = ops.where(ops.arange(width) == 0, 0.0, _IMPOSSIBLE)
    return _Beam(
        position=ops.convert_to_tensor(0, dtype="int32"),
        live_tokens=tokens,
        live_log_probs=ops.tile(first[None, :], (batch, 1)),
        finished_tokens=tokens,
        finished_scores=ops.full((batch, width), _IMPOSSIBLE, dtype="float32"),
        cache=cache,
    )


def _is_done(beam: _Beam, best_penalty: Tensor, length_limits: Tensor) -> Tensor:
    """Tells, bool `[B]`, which sentences no live hypothesis can improve any more.

    Log-probabilities only fall and are divided by at most the penalty of the longest translation,
    so a live hypothesis can at best keep its sum and reach that length.
    """
    reachable = ops.max(beam.live_log_probs, axis=1) / best_penalty
    worst_kept = ops.min(beam.finished_scores, axis=1)
    return (reachable <= worst_kept) | (beam.position >= length_limits)


def _grow(
    beam: _Beam,
    step: Step,
    *,
    length_limits: Tensor,
    best_penalty: Tensor,
    end_id: int,
    alpha: float,
) -> _Beam:
    """Adds one token to every live hypothesis and moves those that end to the finished ones."""
    batch, width = ops.shape(beam.live_log_probs)
    done = _is_done(beam, best_penalty, length_limits)
    logits, cache = step(_last_tokens(beam), beam.position, beam.cache)
    allowed = _allowed(logits.shape[-1], beam.position + 1 >= length_limits, end_id)
    # Twice the width, so that enough live on if many end; one alone makes it greedy search.
    count = 2 * width if width > 1 else 1
    log_probs, parents, tokens = _best_extensions(logits, allowed, beam.live_log_probs, count)
    ended = tokens == end_id

    candidates = _extend(beam.live_tokens, parents, tokens, beam.position)  # [B, count, T]
    penalty = length_penalty(beam.position + 1, alpha)
    newly_finished = ended & (log_probs > _IMPOSSIBLE / 2) & ~done[:, None]
    finished = ops.where(newly_finished, log_probs / penalty, _IMPOSSIBLE)
    finished_tokens, finished_scores = _keep_best(
        ops.concatenate([beam.finished_tokens, candidates], axis=1),
        ops.concatenate([beam.finished_scores, finished], axis=1),
        width,
    )
    live_log_probs, survivors = ops.top_k(ops.where(ended, _IMPOSSIBLE, log_probs), width)
    parents = ops.take_along_axis(parents, survivors, axis=1)  # [B, W]
    rows = ops.reshape(ops.arange(batch)[:, None] * width + parents, (-1,))  # [B * W]
    return _Beam(
        position=beam.position + 1,
        live_tokens=_take_hypotheses(candidates, survivors),
        live_log_probs=live_log_probs,
        finished_tokens=finished_tokens,
        finished_scores=finished_scores,
        cache=keras.tree.map_structure(lambda x: ops.take(x, rows, axis=0), cache),
    )


def _last_tokens(beam: _Beam) -> Tensor:
    """The newest token of each live hypothesis, int `[B, W]`; padding at position 0."""
    newest = ops.take(beam.live_tokens, ops.maximum(beam.position - 1, 0), axis=2)
    return ops.where(beam.position == 0, PADDING_ID, newest)


def _allowed(vocabulary_size: int, at_limit: Tensor, end_id: int) -> Tensor:
    """Tells, bool `[B, 1, V]`, what may follow: no padding, and at the limit only the end."""
    ids = ops.arange(vocabulary_size)
    return (ids != PADDING_ID) & ((ids == end_id) | ~at_limit[:, None, None])


def _best_extensions(
    logits: Tensor, allowed: Tensor, live_log_probs: Tensor, count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The `count` best continuations over all hypotheses of a sentence, best first.

    The best of a sentence are among the best of each hypothesis, so only W · `count` are compared
    and the log-probabilities of all V are never written down. What is not allowed still counts in
    the normalisation: an end forced at the limit costs what the model says.

    Returns:
        log-probabilities float, parent hypotheses int, tokens int, each `[B, count]`.
    """
    choices = min(count, logits.shape[-1])
    best, tokens = ops.top_k(ops.where(allowed, logits, _IMPOSSIBLE), choices)  # [B, W, count]
    best = best - ops.logsumexp(logits, axis=-1, keepdims=True) + live_log_probs[:, :, None]
    batch, width = ops.shape(live_log_probs)
    log_probs, flat = ops.top_k(ops.reshape(best, (batch, width * choices)), count)
    tokens = ops.take_along_axis(ops.reshape(tokens, (batch, width * choices)), flat, axis=1)
    return log_probs, flat // choices, tokens


def _extend(live_tokens: Tensor, parents: Tensor, tokens: Tensor, position: Tensor) -> Tensor:
    """Writes `tokens`, `[B, N]`, at `position` behind their parents' tokens: int `[B, N, T]`."""
    here = ops.arange(ops.shape(live_tokens)[2]) == position
    return ops.where(here, tokens[:, :, None], _take_hypotheses(live_tokens, parents))


def _take_hypotheses(tokens: Tensor, indices: Tensor) -> Tensor:
    """Picks hypotheses `indices`, `[B, N]`, out of `[B, W, T]`: `[B, N, T]`."""
    return ops.take_along_axis(tokens, indices[:, :, None], axis=1)


def _keep_best(tokens: Tensor, scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Keeps the `count` best-scored of `[B, N, T]` tokens, best first."""
    scores, indices = ops.top_k(scores, count)
    return _take_hypotheses(tokens, indices), scores
