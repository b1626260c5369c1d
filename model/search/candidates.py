"""Candidates: the tokens that may continue each hypothesis, and the choice among them (§6.1).

A candidate is a token after a live hypothesis. A sentence's best candidates are among the best of
each hypothesis, so no tensor of the vocabulary's size is written but the logits: rules strike out
candidates, and as many more are taken as rules can strike out.
"""

from typing import NamedTuple

from keras import ops

from model import Tensor
from model.config import SearchConfig
from model.kernels.gather import batch_gather
from model.kernels.top_k import top_k
from model.masks import END_ID, PADDING_ID

# Below any sum of log-probabilities, and finite, so that sums with it are numbers.
IMPOSSIBLE = -1e9


class Candidates(NamedTuple):
    """Continuations of a sentence's hypotheses, best first; all `[B, N]`."""

    log_probs: Tensor  # float32, nats, of the whole hypothesis; IMPOSSIBLE where forbidden
    parents: Tensor  # int32, the live hypothesis that is continued
    tokens: Tensor  # int32, the token after it


class TopTokens(NamedTuple):
    """The most probable next tokens of each hypothesis; both `[B, W, N]`.

    Best first; those that a rule forbids are IMPOSSIBLE.
    """

    log_probs: Tensor  # float32, nats, of the token alone
    tokens: Tensor  # int32


def top_k_tokens(
    logits: Tensor,
    history: Tensor,
    position: Tensor,
    *,
    count: int,
    forced: Tensor,
    config: SearchConfig,
) -> TopTokens:
    """Returns the most probable next tokens, at least `count` of them allowed by the rules.

    Forbidden tokens count in the normalization: a forced end costs what the model says.

    Args:
        logits: float32 `[B, W, V]`.
        history: int `[B, W, T]`, the tokens before, then padding.
        position: int scalar, the number of tokens before.
        count: candidates for each hypothesis.
        forced: int `[B]`, the only token that may follow; padding where any may.
        config: the rules: shortest translation, n-grams that must not repeat.
    """
    forbidden_at_most = 2 + (ops.shape(history)[2] if config.no_repeat_ngram else 0)
    top_logits, tokens = top_k(logits, count + forbidden_at_most)  # [B, W, N]
    best = top_logits[:, :, :1], tokens[:, :, :1]  # [B, W, 1]
    # log Σ exp(logits), from the best token's probability: softmax is one fast kernel.
    normalizer = best[0] - ops.log(_take_tokens(ops.softmax(logits, axis=-1), best[1]))
    forbidden = _is_forbidden(tokens, history, position, config)
    log_probs = ops.where(forbidden, IMPOSSIBLE, top_logits - normalizer)  # [B, W, N]
    is_forced = ops.not_equal(forced, PADDING_ID)[:, None, None]  # [B, 1, 1]
    if_forced = _forced_alone(forced, logits, normalizer, like=log_probs)
    return TopTokens(
        ops.where(is_forced, if_forced.log_probs, log_probs),
        ops.where(is_forced, if_forced.tokens, tokens),
    )


def best_candidates(top: TopTokens, live_log_probs: Tensor, count: int) -> Candidates:
    """Chooses the `count` best continuations of all hypotheses of a sentence, best first.

    Args:
        top: at least `count` allowed tokens for each hypothesis.
        live_log_probs: float32 `[B, W]`, of the hypotheses, in nats.
        count: candidates for each sentence.
    """
    _, width, choices = ops.shape(top.tokens)
    log_probs = top.log_probs + live_log_probs[:, :, None]  # [B, W, choices]
    log_probs = ops.reshape(log_probs, (-1, width * choices))  # [B, W * choices]
    log_probs, indices = ops.top_k(log_probs, count)  # [B, count]
    tokens = batch_gather(ops.reshape(top.tokens, (-1, width * choices)), indices)  # [B, count]
    return Candidates(log_probs, indices // choices, tokens)


def _is_forbidden(
    tokens: Tensor, history: Tensor, position: Tensor, config: SearchConfig
) -> Tensor:
    """Tells, bool `[B, W, N]`, which next tokens the rules forbid."""
    forbidden = ops.equal(tokens, PADDING_ID)
    if config.min_length > 1:
        forbidden |= ops.equal(tokens, END_ID) & (position + 1 < config.min_length)
    if config.no_repeat_ngram:
        repeating = _repeating_tokens(history, position, config.no_repeat_ngram)  # [B, W, M]
        forbidden |= ops.any(tokens[:, :, :, None] == repeating[:, :, None, :], axis=-1)
    return forbidden


def _forced_alone(forced: Tensor, logits: Tensor, normalizer: Tensor, *, like: Tensor) -> TopTokens:
    """Each sentence's forced token, int `[B]`, with the model's log-probability, and no other."""
    width, choices = ops.shape(like)[1:]
    tokens = ops.tile(forced[:, None, None], (1, width, choices))  # [B, W, N]
    log_probs = _take_tokens(logits, tokens[:, :, :1]) - normalizer  # [B, W, 1]
    return TopTokens(ops.where(ops.arange(choices) == 0, log_probs, IMPOSSIBLE), tokens)


def _take_tokens(values: Tensor, tokens: Tensor) -> Tensor:
    """Takes from `[B, W, V]` the value of one token of each hypothesis, int `[B, W, 1]`."""
    _, width, size = ops.shape(values)
    rows, tokens = ops.reshape(values, (-1, size)), ops.reshape(tokens, (-1, 1))  # [B * W, …]
    return ops.reshape(batch_gather(rows, tokens), (-1, width, 1))


def _repeating_tokens(history: Tensor, position: Tensor, size: int) -> Tensor:
    """Returns the tokens, int `[B, W, M]`, that would repeat an n-gram of `size` tokens.

    For the history 4 5 6 4 5 and n-grams of 3 tokens it is 6, since 4 5 6 is there.
    """
    missing = ops.maximum(size - ops.shape(history)[2], 0)  # to hold one n-gram
    history = ops.pad(history, ((0, 0), (0, 0), (0, missing)), constant_values=PADDING_ID)
    places = ops.shape(history)[2] - size + 1  # M, of n-grams
    last_of_ngrams = history[:, :, size - 1 :]  # [B, W, M]
    repeats = ops.arange(places) + size - 1 < position  # [M]
    for offset in range(size - 1):
        newest = ops.take(history, ops.maximum(position - size + 1 + offset, 0), axis=2)  # [B, W]
        same = ops.equal(history[:, :, offset : offset + places], newest[:, :, None])  # [B, W, M]
        repeats = repeats & same
    return ops.where(repeats, last_of_ngrams, PADDING_ID)
