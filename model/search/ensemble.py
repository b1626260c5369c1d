"""Ensembles: search with the average of several models' predictions (as in Table 2's rivals)."""

import math
from collections.abc import Sequence

from keras import ops

from model import Tensor
from model.search.search import Prediction, Step
from model.search.state import Ancestry, Cache


def average_log_probs(log_probs: Sequence[Tensor]) -> Tensor:
    """Returns the logarithm of the models' mean probability, from log-probabilities in nats."""
    return ops.logsumexp(ops.stack(log_probs), axis=0) - math.log(len(log_probs))


def average_steps(steps: Sequence[Step]) -> Step:
    """Joins steps into one, which averages their probabilities and their attention.

    Its cache is `join_caches` of theirs.
    """

    def step(tokens: Tensor, position: Tensor, ancestry: Ancestry, cache: Cache) -> Prediction:
        predictions = [
            model_step(tokens, position, ancestry, Cache(past, fixed))
            for model_step, past, fixed in zip(steps, cache.past, cache.fixed, strict=True)
        ]
        past = tuple(prediction.past for prediction in predictions)
        if len(steps) == 1:  # search normalizes
            return predictions[0]._replace(past=past)
        log_probs = [ops.log_softmax(prediction.logits, axis=-1) for prediction in predictions]
        attention = ops.stack([prediction.attention for prediction in predictions])  # [·, B, W, S]
        return Prediction(average_log_probs(log_probs), past, ops.mean(attention, axis=0))

    return step


def join_caches(caches: Sequence[Cache]) -> Cache:
    """Joins the caches of several models into one."""
    return Cache(tuple(cache.past for cache in caches), tuple(cache.fixed for cache in caches))
