"""Decoding: beam search and sampling as a pure function over a step callback (§6.1).

    step(tokens [B, W], position, lineage, cache) → (logits [B, W, V], past, attention)

The past is not reordered at every step: what a hypothesis has written stays where it is, and its
lineage says which of these entries the past of each live hypothesis is made of.

A sentence's result does not depend on the sentences beside it: each has its own length limit and
its own stopping rule. Search goes in rounds, each of shapes that stay: a round has room for a few
positions more, and leaves out the sentences that are done and the entries that none goes back to.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from model import Tensor
from model.config import SearchConfig
from model.kernels.tensorflow_ops import loosened, while_loop
from model.masks import PADDING_ID
from model.search.candidates import IMPOSSIBLE, Candidates, best_candidates, likeliest_tokens, pick
from model.search.penalties import coverage_penalty, length_penalty
from model.search.sampling import drawn_candidates, random_numbers, sentence_keys
from model.search.state import (
    Beam,
    Cache,
    Lineage,
    Sentences,
    extend,
    last_tokens,
    lineage,
    next_round,
)

# Positions in a round, at most: between two rounds the past is copied, and in each step of a round
# all that it has room for is read.
_ROUND = 32


class Prediction(NamedTuple):
    """What a step says of the next token of each hypothesis.

    logits: float32 `[B, W, V]`.
    past: that of the cache, with the entries of this position written in.
    attention: float `[B, W, S]`, to the source, which the coverage penalty needs.
    """

    logits: Tensor
    past: Any
    attention: Tensor


# Of the last tokens, the position, the lineage and the cache.
Step = Callable[[Tensor, Tensor, Lineage, Cache], Prediction]


class Translations(NamedTuple):
    """What search returns, best first; N is `n_best`.

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
    end_id: int,
    config: SearchConfig,
    prefix: Tensor | None = None,
    source: Tensor | None = None,
) -> Translations:
    """Finds the `n_best` best translations of each sentence that a beam, or sampling, meets.

    Each position extends the live hypotheses by their 2 W best tokens; those that end compete with
    the finished ones by score, the best W others live on. A width of 1 is greedy search. Sampling
    (a temperature above 0) draws the next token of each of W hypotheses instead. A sentence is done
    when no live hypothesis can reach a better score than its worst finished one.

    Args:
        step: predicts the next token; called first with padding, the start symbol, at position 0.
        cache: what the first step is given, its past with E = 0.
        length_limits: int32 `[B]`, longest translation in tokens, end symbol included, at least 1;
            at the limit only the end symbol may follow.
        end_id: the end symbol.
        config: how to search.
        prefix: int32 `[B, P]`, tokens that translations must begin with, then padding; shorter
            than the length limits.
        source: int `[B, S]`, its tokens, then padding: which the coverage penalty counts, and
            sampling makes a sentence's random numbers of; padding alone if not given.

    Returns:
        `n_best` translations of each sentence, best first; where fewer exist within the limit,
        the rest are padding alone, with a score of −10⁹.
    """
    run = _Search(step, end_id, config)
    beam = run.init(cache, length_limits, prefix, source)
    found = Translations(beam.finished_tokens, beam.finished_scores)

    def any_left(_: Translations, beam: Beam) -> Tensor:
        return ops.any(~run.is_done(beam))

    def play_round(found: Translations, beam: Beam) -> tuple[Translations, Beam]:
        (left,) = ops.nonzero(~run.is_done(beam))
        until = ops.minimum(beam.position + _ROUND, ops.shape(beam.live_tokens)[2])
        beam = run.advance(next_round(beam, left, until - beam.position), until)
        places = beam.sentences.number[:, None]
        best = (beam.finished_tokens, beam.finished_scores)
        return Translations(*map(ops.scatter_update, found, (places, places), best)), beam

    shapes, past = loosened(beam, 0), loosened(beam.cache.past, 0, 2)
    shapes = shapes._replace(seen=loosened(beam.seen, 0, 2))
    shapes = shapes._replace(cache=shapes.cache._replace(past=past))
    found, _ = while_loop(any_left, play_round, (found, beam), (loosened(found, 0), shapes))
    return found


@dataclasses.dataclass(frozen=True)
class _Search:
    """How to go from one position to the next."""

    step: Step
    end_id: int
    config: SearchConfig

    def init(
        self,
        cache: Any,
        length_limits: Tensor,
        prefix: Tensor | None,
        source: Tensor | None,
    ) -> Beam:
        """One empty live hypothesis a sentence; the others are impossible until it has branched."""
        config, batch = self.config, ops.shape(length_limits)[0]
        longest = ops.max(ops.append(length_limits, 1))  # of no sentences too
        tokens = ops.full((batch, 1, longest), PADDING_ID, dtype="int32")
        hypotheses = ops.arange(config.beam_size)
        branched = (hypotheses == 0) | (config.temperature > 0)  # samples are apart at once
        if prefix is None:
            prefix = tokens[:, 0, :1]
        if source is None:
            source = tokens[:, 0, :1]
        coverage = ops.cast(ops.equal(source, PADDING_ID), "float32")[:, None]
        key = sentence_keys(source) if config.temperature else ops.zeros((batch,), dtype="int32")
        return Beam(
            position=ops.convert_to_tensor(0, dtype="int32"),
            written=ops.convert_to_tensor(0, dtype="int32"),
            sentences=Sentences(ops.arange(batch), length_limits, ops.cast(prefix, "int32"), key),
            live_tokens=ops.repeat(tokens, config.beam_size, axis=1),
            live_log_probs=ops.tile(ops.where(branched, 0.0, IMPOSSIBLE)[None], (batch, 1)),
            live_coverage=ops.repeat(coverage, config.beam_size, axis=1),
            seen=ops.zeros((batch, config.beam_size, 0), dtype="bool"),
            finished_tokens=ops.repeat(tokens, config.n_best, axis=1),
            finished_scores=ops.full((batch, config.n_best), IMPOSSIBLE, dtype="float32"),
            cache=cache,
        )

    def advance(self, beam: Beam, until: Tensor) -> Beam:
        """Grows the beam up to a position, or until half of its sentences are done."""
        half = ops.shape(beam.live_log_probs)[0] // 2

        def goes_on(*beam: Any) -> Tensor:
            unfinished = ops.sum(ops.cast(~self.is_done(Beam(*beam)), "int32"))
            return (Beam(*beam).position < until) & (unfinished > half)

        return Beam(*ops.while_loop(goes_on, lambda *beam: self.grow(Beam(*beam)), tuple(beam)))

    def is_done(self, beam: Beam) -> Tensor:
        """Tells, bool `[B]`, which sentences no live hypothesis can improve any more.

        Log-probabilities only fall and are divided by at most the penalty of the longest
        translation, so a live hypothesis can at best keep its sum, reach that length, and cover all
        of its source. At the limit every hypothesis ends, and none lives on.
        """
        best, worst_kept = beam.live_log_probs[:, 0], beam.finished_scores[:, -1]
        reachable = best / length_penalty(beam.sentences.length_limit, self.config)
        return (best < IMPOSSIBLE / 2) | (reachable <= worst_kept)  # none lives, or none can win

    def grow(self, beam: Beam) -> Beam:
        """Adds one token to every live hypothesis and moves those that end to the finished ones."""
        before = lineage(beam)
        prediction = self.step(last_tokens(beam), beam.position, before, beam.cache)
        candidates = self.candidates(beam, prediction.logits)
        if self.config.coverage_penalty:
            attended = ops.cast(prediction.attention, "float32")
            beam = beam._replace(live_coverage=beam.live_coverage + attended)
        tokens = extend(beam.live_tokens, candidates, beam.position)  # [B, candidates, T]
        beam = self.finish(beam, candidates, tokens)
        beam = self.survive(beam._replace(seen=before.seen), candidates, tokens)
        return beam._replace(cache=beam.cache._replace(past=prediction.past))

    def candidates(self, beam: Beam, logits: Tensor) -> Candidates:
        """Chooses what the live hypotheses are continued with."""
        config = self.config
        # Twice the width, so that enough live on if many end; one alone makes it greedy search.
        count = 2 * config.beam_size if config.beam_size > 1 else 1
        likeliest = likeliest_tokens(
            logits,
            beam.live_tokens,
            beam.position,
            count=(config.top_k or logits.shape[-1]) if config.temperature else count,
            end_id=self.end_id,
            forced=self.forced_tokens(beam),
            config=config,
        )
        if not config.temperature:
            return best_candidates(likeliest, beam.live_log_probs, count)
        key, at = beam.sentences.key, beam.position
        uniform = random_numbers(key, at, width=config.beam_size, seed=config.sampling_seed)
        return drawn_candidates(likeliest, beam.live_log_probs, uniform, config)

    def forced_tokens(self, beam: Beam) -> Tensor:
        """The only token, int `[B]`, that may follow now; padding where any may."""
        _, limits, prefix, _ = beam.sentences
        last = ops.shape(prefix)[1] - 1
        given = ops.take(prefix, ops.minimum(beam.position, last), axis=1)
        given = ops.where(beam.position <= last, given, PADDING_ID)
        return ops.where(beam.position + 1 >= limits, self.end_id, given)

    def finish(self, beam: Beam, candidates: Candidates, tokens: Tensor) -> Beam:
        """Keeps the best of the finished hypotheses and of the candidates that end."""
        log_probs, parents, newest = candidates
        scores = log_probs / length_penalty(beam.position + 1, self.config)
        if self.config.coverage_penalty:
            scores += coverage_penalty(pick(beam.live_coverage, parents), self.config)
        ends = ops.equal(newest, self.end_id) & (log_probs > IMPOSSIBLE / 2)
        scores = ops.concatenate(
            [beam.finished_scores, ops.where(ends, scores, IMPOSSIBLE)], axis=1
        )
        scores, best = ops.top_k(scores, self.config.n_best)
        finished = ops.concatenate([beam.finished_tokens, tokens], axis=1)
        return beam._replace(finished_tokens=pick(finished, best), finished_scores=scores)

    def survive(self, beam: Beam, candidates: Candidates, tokens: Tensor) -> Beam:
        """Lets the best candidates that do not end live on."""
        width = self.config.beam_size
        ended = ops.equal(candidates.tokens, self.end_id)
        log_probs, survivors = ops.top_k(ops.where(ended, IMPOSSIBLE, candidates.log_probs), width)
        parents = pick(candidates.parents, survivors)  # [B, W]
        return beam._replace(
            position=beam.position + 1,
            written=beam.written + width,
            live_tokens=pick(tokens, survivors),
            live_log_probs=log_probs,
            live_coverage=pick(beam.live_coverage, parents),
            seen=pick(beam.seen, parents),
        )
