"""Assignments in a replica: each writes its own copy of a variable.

In a replica, `Variable.assign` first brings all replicas together (`merge_call`), which neither XLA
nor a condition can contain. What is assigned here is computed by every replica from the same sums
over all of them, so the copies stay equal without that exchange.
"""

import keras
import tensorflow as tf


def assign(variable: keras.Variable, value: tf.Tensor) -> None:
    """Sets this replica's copy of a variable."""
    tf.raw_ops.AssignVariableOp(resource=variable.value.handle, value=value)


def assign_add(variable: keras.Variable, value: tf.Tensor) -> None:
    """Adds to this replica's copy of a variable."""
    tf.raw_ops.AssignAddVariableOp(resource=variable.value.handle, value=value)
