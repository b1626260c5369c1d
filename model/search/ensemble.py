"""Several models as one: search with the average of their predictions (as in Table 2's rivals)."""

import math
from collections.abc import Sequence

from keras import ops

from model import Tensor
from model.search.search import Prediction, Step
from model.search.state import Cache, Lineage


def average_log_probs(log_probs: Sequence[Tensor]) -> Tensor:
    """Averages probabilities, of several models, that are given by their logarithms, in nats."""
    return ops.logsumexp(ops.stack(log_probs), axis=0) - math.log(len(log_probs))


def average_steps(steps: Sequence[Step]) -> Step:
    """Makes one step of several models': it averages their probabilities and their attention.

    Its cache is `join_caches` of theirs.
    """

    def step(tokens: Tensor, position: Tensor, lineage: Lineage, cache: Cache) -> Prediction:
        predictions = [
            each(tokens, position, lineage, Cache(past, fixed))
            for each, past, fixed in zip(steps, cache.past, cache.fixed, strict=True)
        ]
        past = tuple(each.past for each in predictions)
        if len(steps) == 1:  # no need to normalise what search normalises
            return predictions[0]._replace(past=past)
        logits = [ops.log_softmax(each.logits, axis=-1) for each in predictions]
        attention = ops.stack([each.attention for each in predictions])
        return Prediction(average_log_probs(logits), past, ops.mean(attention, axis=0))

    return step


def join_caches(caches: Sequence[Cache]) -> Cache:
    """Makes one cache of several models'."""
    return Cache(tuple(each.past for each in caches), tuple(each.fixed for each in caches))
