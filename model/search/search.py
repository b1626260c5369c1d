"""Decoding: beam search and sampling as a pure function over a step callback (§6.1).

    step(tokens [B, W], position, ancestry, cache) → (logits [B, W, V], past, attention)

The algorithm, by the names of its functions and the files that hold them:

    init                 one empty hypothesis for each sentence
    while unfinished:
        run_chunk        up to 32 positions, in which no tensor changes its shape:
            compact      drop finished sentences and unused cache entries       state
            while should_continue:
                grow     one position:
                    step          the model's logits of the next token          (callback)
                    candidates    the best 2 W continuations, or W samples      candidates, sampling
                    finish        those that end compete for the n_best         penalties
                    keep_live     the best W others live on
    stop                 of each sentence, by `is_done`: no live hypothesis can win any more

The cache is never reordered: each step appends W entries, and `Ancestry` says which entries each
hypothesis attends to (`model.search.state`, with a worked example).

A sentence's result does not depend on the other sentences of its batch: each has its own length
limit and its own stopping rule.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from model import Tensor
from model.config import SearchConfig
from model.kernels.gather import batch_gather
from model.kernels.tensorflow_ops import relax_shapes, while_loop
from model.masks import END_ID, PADDING_ID
from model.search.candidates import IMPOSSIBLE, Candidates, best_candidates, top_k_tokens
from model.search.penalties import coverage_penalty, length_penalty
from model.search.sampling import random_numbers, sample_candidates, sentence_keys
from model.search.state import (
    Ancestry,
    Beam,
    Cache,
    Sentences,
    append_tokens,
    compact,
    current_ancestry,
    forced_tokens,
    last_tokens,
    relax_beam,
)

# Positions from one compaction to the next: it copies the cache, but each step reads all of the
# cache's capacity, the room for later positions too.
_CHUNK = 32


class Prediction(NamedTuple):
    """What a step returns about the next token of each hypothesis.

    logits: float32 `[B, W, V]`.
    past: the cache's, with the entries of this position written in.
    attention: float `[B, W, S]`, to the source; only the coverage penalty reads it.
    """

    logits: Tensor
    past: Any
    attention: Tensor


# Receives the last tokens, the position, the ancestry and the cache.
Step = Callable[[Tensor, Tensor, Ancestry, Cache], Prediction]


class Translations(NamedTuple):
    """The result of search, best first; N is `n_best`.

    tokens: int `[B, N, T]`, ending in the end symbol, then padding.
    scores: float32 `[B, N]`, log-probability in nats divided by the length penalty, plus the
        coverage penalty.
    """

    tokens: Tensor
    scores: Tensor


def search(
    step: Step,
    cache: Cache,
    *,
    length_limits: Tensor,
    config: SearchConfig,
    prefix: Tensor | None = None,
    source: Tensor | None = None,
) -> Translations:
    """Finds the `n_best` best translations of each sentence by beam search or sampling.

    Each position extends the live hypotheses by their 2 W best tokens; those that end compete with
    the finished ones by score, the best W others live on. A width of 1 is greedy search. Sampling
    (a temperature above 0) draws the next token of each of W hypotheses instead. A sentence is done
    when no live hypothesis can reach a better score than its worst finished one.

    Args:
        step: predicts the next token; called first with padding, the start symbol, at position 0.
        cache: of the first step, its past with E = 0.
        length_limits: int32 `[B]`, longest translation in tokens, end symbol included, at least 1;
            at the limit only the end symbol may follow.
        config: how to search.
        prefix: int32 `[B, P]`, tokens that translations must begin with, then padding; shorter
            than the length limits.
        source: int `[B, S]`, tokens, then padding: the coverage penalty counts them, and they seed
            a sentence's random numbers. Padding alone by default.

    Returns:
        `n_best` translations of each sentence, best first; where fewer exist within the limit,
        the rest are padding alone, with a score of −10⁹.
    """
    algorithm = _Search(step, config)
    beam = algorithm.init(cache, length_limits, prefix, source)
    best = Translations(beam.finished_tokens, beam.finished_scores)
    shapes = (relax_shapes(best, 0), relax_beam(beam))
    best, _ = while_loop(algorithm.unfinished, algorithm.run_chunk, (best, beam), shapes)
    return best


@dataclasses.dataclass(frozen=True)
class _Search:
    """The algorithm; every method is a function from one state to the next."""

    step: Step
    config: SearchConfig

    def init(
        self, cache: Any, length_limits: Tensor, prefix: Tensor | None, source: Tensor | None
    ) -> Beam:
        """One empty live hypothesis for each sentence; the others are impossible at first."""
        config, batch = self.config, ops.shape(length_limits)[0]
        longest = ops.max(ops.append(length_limits, 1))  # also of no sentences
        tokens = ops.full((batch, 1, longest), PADDING_ID, dtype="int32")  # [B, 1, T]
        first = ops.arange(config.beam_size) == 0
        is_possible = first | (config.temperature > 0)  # [W]; samples differ from the start
        if prefix is None:
            prefix = tokens[:, 0, :1]  # [B, 1]
        if source is None:
            source = tokens[:, 0, :1]  # [B, 1]
        coverage = ops.cast(ops.equal(source, PADDING_ID), "float32")[:, None]  # [B, 1, S]
        key = sentence_keys(source) if config.temperature else ops.zeros((batch,), dtype="int32")
        log_probs = ops.where(is_possible, 0.0, IMPOSSIBLE)[None]  # [1, W]
        return Beam(
            position=ops.convert_to_tensor(0, dtype="int32"),
            num_entries=ops.convert_to_tensor(0, dtype="int32"),
            sentences=Sentences(ops.arange(batch), length_limits, ops.cast(prefix, "int32"), key),
            live_tokens=ops.repeat(tokens, config.beam_size, axis=1),  # [B, W, T]
            live_log_probs=ops.tile(log_probs, (batch, 1)),  # [B, W]
            live_coverage=ops.repeat(coverage, config.beam_size, axis=1),  # [B, W, S]
            ancestors=ops.zeros((batch, config.beam_size, 0), dtype="bool"),  # [B, W, E = 0]
            finished_tokens=ops.repeat(tokens, config.n_best, axis=1),  # [B, N, T]
            finished_scores=ops.full((batch, config.n_best), IMPOSSIBLE, dtype="float32"),
            cache=cache,
        )

    def unfinished(self, best: Translations, beam: Beam) -> Tensor:
        """Tells whether any sentence is not done."""
        return ops.any(~self.is_done(beam))

    def run_chunk(self, best: Translations, beam: Beam) -> tuple[Translations, Beam]:
        """Grows the sentences that are not done, in tensors that hold nothing else."""
        (sentences,) = ops.nonzero(~self.is_done(beam))  # [B']
        until = ops.minimum(beam.position + _CHUNK, ops.shape(beam.live_tokens)[2])
        beam = self.advance(compact(beam, sentences, until - beam.position), until)
        rows = beam.sentences.index[:, None]  # [B', 1]
        return Translations(
            ops.scatter_update(best.tokens, rows, beam.finished_tokens),  # [B, N, T]
            ops.scatter_update(best.scores, rows, beam.finished_scores),  # [B, N]
        ), beam

    def advance(self, beam: Beam, until: Tensor) -> Beam:
        """Grows the beam up to a position, or until half of its sentences are done."""
        half = ops.shape(beam.live_log_probs)[0] // 2

        def should_continue(*beam: Any) -> Tensor:
            unfinished = ops.sum(ops.cast(~self.is_done(Beam(*beam)), "int32"))
            return (Beam(*beam).position < until) & (unfinished > half)

        def grow(*beam: Any) -> Beam:
            return self.grow(Beam(*beam))

        return Beam(*ops.while_loop(should_continue, grow, tuple(beam)))

    def is_done(self, beam: Beam) -> Tensor:
        """Tells, bool `[B]`, which sentences no live hypothesis can improve any more.

        Log-probabilities only fall and are divided by at most the penalty of the longest
        translation, so at best a live hypothesis keeps its sum, reaches that length, and covers all
        of its source. At the limit every hypothesis ends, and none lives on.
        """
        best, worst_kept = beam.live_log_probs[:, 0], beam.finished_scores[:, -1]  # [B]
        reachable = best / length_penalty(beam.sentences.length_limit, self.config)
        return (best < IMPOSSIBLE / 2) | (reachable <= worst_kept)  # none lives, or none can win

    def grow(self, beam: Beam) -> Beam:
        """Adds one token to every live hypothesis and moves those that end to the finished ones."""
        ancestry = current_ancestry(beam)
        prediction = self.step(last_tokens(beam), beam.position, ancestry, beam.cache)
        candidates = self.candidates(beam, prediction.logits)
        if self.config.coverage_penalty:
            attention = ops.cast(prediction.attention, "float32")  # [B, W, S]
            beam = beam._replace(live_coverage=beam.live_coverage + attention)
        tokens = append_tokens(beam.live_tokens, candidates, beam.position)  # [B, 2 W, T]
        beam = self.finish(beam, candidates, tokens)
        beam = self.keep_live(beam._replace(ancestors=ancestry.ancestors), candidates, tokens)
        return beam._replace(cache=beam.cache._replace(past=prediction.past))

    def candidates(self, beam: Beam, logits: Tensor) -> Candidates:
        """Chooses the continuations of the live hypotheses, `[B, 2 W]`, or `[B, W]` samples."""
        config = self.config
        # Twice the width, so that enough live on if many end; greedy search needs one.
        count = 2 * config.beam_size if config.beam_size > 1 else 1
        top = top_k_tokens(
            logits,
            beam.live_tokens,
            beam.position,
            count=(config.top_k or logits.shape[-1]) if config.temperature else count,
            forced=forced_tokens(beam),
            config=config,
        )
        if not config.temperature:
            return best_candidates(top, beam.live_log_probs, count)
        key, position = beam.sentences.key, beam.position
        uniform = random_numbers(key, position, width=config.beam_size, seed=config.sampling_seed)
        return sample_candidates(top, beam.live_log_probs, uniform, config)

    def finish(self, beam: Beam, candidates: Candidates, tokens: Tensor) -> Beam:
        """Keeps the best of the finished hypotheses and of the candidates that end."""
        scores = candidates.log_probs / length_penalty(beam.position + 1, self.config)  # [B, 2 W]
        if self.config.coverage_penalty:
            coverage = batch_gather(beam.live_coverage, candidates.parents)  # [B, 2 W, S]
            scores += coverage_penalty(coverage, self.config)
        ends = ops.equal(candidates.tokens, END_ID) & (candidates.log_probs > IMPOSSIBLE / 2)
        scores = ops.where(ends, scores, IMPOSSIBLE)
        scores = ops.concatenate([beam.finished_scores, scores], axis=1)  # [B, N + 2 W]
        tokens = ops.concatenate([beam.finished_tokens, tokens], axis=1)  # [B, N + 2 W, T]
        scores, best = ops.top_k(scores, self.config.n_best)  # [B, N]
        return beam._replace(finished_tokens=batch_gather(tokens, best), finished_scores=scores)

    def keep_live(self, beam: Beam, candidates: Candidates, tokens: Tensor) -> Beam:
        """Keeps the best W candidates that do not end as the live hypotheses."""
        width = self.config.beam_size
        ends = ops.equal(candidates.tokens, END_ID)  # [B, 2 W]
        log_probs, best = ops.top_k(ops.where(ends, IMPOSSIBLE, candidates.log_probs), width)
        parents = batch_gather(candidates.parents, best)  # [B, W]
        if self.config.coverage_penalty:
            beam = beam._replace(live_coverage=batch_gather(beam.live_coverage, parents))
        return beam._replace(
            position=beam.position + 1,
            num_entries=beam.num_entries + width,
            live_tokens=batch_gather(tokens, best),  # [B, W, T]
            live_log_probs=log_probs,  # [B, W]
            ancestors=batch_gather(beam.ancestors, parents),  # [B, W, E]
        )
