"""What each hypothesis may be continued with: the rules of search, and the choice (§6.1).

A candidate is a token behind a live hypothesis. The best of a sentence are among the best of each
hypothesis, so that nothing the size of the vocabulary is written down but the logits themselves:
rules strike out candidates, and as many more are taken as they may strike out.
"""

import math
from typing import NamedTuple

from keras import ops

from model import Tensor
from model.config import SearchConfig
from model.masks import PADDING_ID

# Worse than any sum of log-probabilities, and finite, so that sums of it stay numbers.
IMPOSSIBLE = -1e9


class Candidates(NamedTuple):
    """Continuations; all `[B, N]`.

    log_probs: float32, of the whole hypothesis, in nats; IMPOSSIBLE where a rule forbids it.
    parents: int32, the live hypothesis continued. tokens: int32, the token behind it.
    """

    log_probs: Tensor
    parents: Tensor
    tokens: Tensor


class Likeliest(NamedTuple):
    """The likeliest tokens behind each hypothesis, forbidden ones last; both `[B, W, N]`."""

    log_probs: Tensor  # float32, nats, of the token alone
    tokens: Tensor  # int32


def likeliest_tokens(
    logits: Tensor,
    history: Tensor,
    position: Tensor,
    *,
    count: int,
    end_id: int,
    forced: Tensor,
    config: SearchConfig,
) -> Likeliest:
    """Returns the `count` likeliest tokens that the rules allow behind each hypothesis.

    What is not allowed still counts in the normalisation: an end that is forced costs what the
    model says.

    Args:
        logits: float32 `[B, W, V]`.
        history: int `[B, W, T]`, the tokens before, then padding.
        position: int scalar, the number of tokens before.
        count: candidates for each hypothesis.
        end_id: the end symbol.
        forced: int `[B]`, the only token that may follow; padding where any may.
        config: the rules: shortest translation, n-grams that must not come again.
    """
    spare = 2 + (ops.shape(history)[2] if config.no_repeat_ngram else 0)  # padding, end, n-grams
    best, tokens = _top_tokens(logits, count + spare)
    top = tokens[:, :, :1]
    total = best[:, :, :1] - ops.log(_at(ops.softmax(logits, axis=-1), top))  # by one fast kernel
    forbidden = ops.equal(tokens, PADDING_ID)
    if config.min_length > 1:
        forbidden |= ops.equal(tokens, end_id) & (position + 1 < config.min_length)
    if config.no_repeat_ngram:
        repeating = _repeating_tokens(history, position, config.no_repeat_ngram)
        forbidden |= ops.any(tokens[:, :, :, None] == repeating[:, :, None, :], axis=-1)
    log_probs = ops.where(forbidden, IMPOSSIBLE, best - total)
    is_forced = ops.not_equal(forced, PADDING_ID)[:, None, None]
    if_forced = _only(forced, logits, total, like=log_probs)
    return Likeliest(
        ops.where(is_forced, if_forced.log_probs, log_probs),
        ops.where(is_forced, if_forced.tokens, tokens),
    )


def best_candidates(likeliest: Likeliest, live_log_probs: Tensor, count: int) -> Candidates:
    """Chooses the `count` best continuations of all hypotheses of a sentence, best first.

    Args:
        likeliest: at least `count` for each hypothesis, those that rules strike out not counted.
        live_log_probs: float32 `[B, W]`, of the hypotheses, in nats.
        count: candidates for each sentence.
    """
    _, width, choices = ops.shape(likeliest.tokens)
    extended = likeliest.log_probs + live_log_probs[:, :, None]
    log_probs, flat = ops.top_k(ops.reshape(extended, (-1, width * choices)), count)
    tokens = pick(ops.reshape(likeliest.tokens, (-1, width * choices)), flat)
    return Candidates(log_probs, flat // choices, tokens)


def pick(x: Tensor, indices: Tensor) -> Tensor:
    """Picks `indices`, int `[B, N]`, along the second axis of `[B, M, …]`: `[B, N, …]`."""
    batch, number = ops.shape(indices)
    _, size, *rest = ops.shape(x)
    rows = ops.reshape(ops.arange(batch)[:, None] * size + indices, (-1,))
    picked = ops.take(ops.reshape(x, (-1, *rest)), rows, axis=0)
    return ops.reshape(picked, (-1, number, *rest))


def _top_tokens(logits: Tensor, count: int | Tensor) -> tuple[Tensor, Tensor]:
    """The `count` best of float `[B, W, V]`, or all: values and ids, `[B, W, count]`.

    The best are in those blocks of tokens whose maxima are the best; finding maxima is cheap.
    """
    batch, width, size = ops.shape(logits)
    if not isinstance(count, int):
        return ops.top_k(logits, ops.minimum(count, size))
    root = math.isqrt(max(2 * size // count, 1))  # balances the choice of blocks and that in them
    block = next((n for n in range(root, 2 * root) if size % n == 0), root)  # better not to pad
    blocks = -(-size // block)
    if count >= blocks:
        return ops.top_k(logits, min(count, size))
    logits = ops.pad(
        logits, ((0, 0), (0, 0), (0, blocks * block - size)), constant_values=IMPOSSIBLE
    )
    rows = ops.reshape(logits, (batch * width, blocks, block))
    _, best = ops.top_k(ops.max(rows, axis=2), count)  # [B * W, count]
    values, places = ops.top_k(ops.reshape(pick(rows, best), (batch * width, -1)), count)
    tokens = pick(best, places // block) * block + places % block
    shape = (batch, width, count)
    return ops.reshape(values, shape), ops.reshape(tokens, shape)


def _at(values: Tensor, tokens: Tensor) -> Tensor:
    """The value, of `[B, W, V]`, of one token, `[B, W, 1]`, of each hypothesis."""
    _, width, size = ops.shape(values)
    picked = pick(ops.reshape(values, (-1, size)), ops.reshape(tokens, (-1, 1)))
    return ops.reshape(picked, (-1, width, 1))


def _only(forced: Tensor, logits: Tensor, total: Tensor, *, like: Tensor) -> Likeliest:
    """The forced token of each sentence, `[B]`, at what the model says, and nothing else."""
    width, choices = ops.shape(like)[1:]
    tokens = ops.tile(forced[:, None, None], (1, width, choices))
    log_probs = _at(logits, tokens[:, :, :1]) - total
    return Likeliest(ops.where(ops.arange(choices) == 0, log_probs, IMPOSSIBLE), tokens)


def _repeating_tokens(history: Tensor, position: Tensor, size: int) -> Tensor:
    """The tokens, int `[B, W, N]`, that would make the last `size` tokens a repetition."""
    short = ops.maximum(size - ops.shape(history)[2], 0)  # of one n-gram
    history = ops.pad(history, ((0, 0), (0, 0), (0, short)), constant_values=PADDING_ID)
    places = ops.shape(history)[2] - size + 1
    followers = history[:, :, size - 1 :]
    repeats = ops.arange(places) + size - 1 < position
    for offset in range(size - 1):
        last = ops.take(history, ops.maximum(position - size + 1 + offset, 0), axis=2)
        repeats = repeats & ops.equal(history[:, :, offset : offset + places], last[:, :, None])
    return ops.where(repeats, followers, PADDING_ID)
