"""Search on every replica of a strategy, for evaluation during training."""

import contextlib
import functools
from collections.abc import Iterator

import tensorflow as tf

from model.transformer import Transformer
from trainer.inference.batching import Scope


def replica_scopes(transformer: Transformer) -> list[Scope]:
    """Returns a scope for each device of this machine that holds a copy of a model's weights.

    A `tf.function` that is called in a scope runs on that device, with the copy there; each device
    has a trace of its own.

    Args:
        transformer: the model.

    Returns:
        makers of context managers, which threads may enter side by side; none for a model on a
        single device.
    """
    weight = transformer.trainable_variables[0].value
    if not isinstance(weight, tf.distribute.DistributedValues):
        return []
    strategy = weight.distribute_strategy
    devices = [copy.device for copy in strategy.experimental_local_results(weight)]
    if len(devices) == 1:
        return []
    return [functools.partial(_replica_scope, strategy, device) for device in devices]


@contextlib.contextmanager
def _replica_scope(strategy: tf.distribute.Strategy, device: str) -> Iterator[None]:
    """Outside the strategy's scope, all devices would share one trace and the first copy."""
    with strategy.scope(), tf.device(device):
        yield
