"""Label-smoothed cross-entropy in nats, summed over real target tokens (§5.4)."""

from typing import Literal

import tensorflow as tf

from pipeline.schema import PADDING_ID


def wrong_probability(
    label_smoothing: float, *, over: Literal["all", "wrong"], vocabulary_size: int
) -> float:
    """Returns the probability that smoothed targets give to all wrong subwords together.

    Args:
        label_smoothing: ε_ls, 0 to 1.
        over: "all" spreads ε_ls over all V subwords, and so gives ε_ls / V back to the right one
            (Szegedy et al. 2016, §7, which §5.4 cites); "wrong" over the V - 1 others, as
            Tensor2Tensor does.
        vocabulary_size: V.
    """
    if over == "wrong":
        return label_smoothing
    return label_smoothing * (vocabulary_size - 1) / vocabulary_size


def cross_entropy(
    logits: tf.Tensor, target: tf.Tensor, *, label_smoothing: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Sums the smoothed and the plain cross-entropy over the real tokens of `target`.

    The smoothed target distribution gives 1 - ε to the right subword and ε / (V - 1) to each wrong
    one; padding has weight 0. Neither it nor the softmax is kept for the
    backward pass: one `[tokens, V]` array, the gradient, is all that training stores.

    Args:
        logits: float32 `[B, T, V]`.
        target: int `[B, T]`, padded with `PADDING_ID`.
        label_smoothing: ε, 0 to 1: the `wrong_probability`.

    Returns:
        Two float32 scalars, nats: the smoothed sum, which is differentiable, and the plain sum,
        which is not.
    """
    vocabulary_size = tf.shape(logits)[-1]
    labels = tf.reshape(target, (-1,))  # [B * T]
    weights = tf.cast(labels != PADDING_ID, tf.float32)
    wrong = label_smoothing / (tf.cast(vocabulary_size, tf.float32) - 1.0)
    right = 1.0 - label_smoothing

    @tf.custom_gradient
    def summed(flat: tf.Tensor) -> tuple[tuple[tf.Tensor, tf.Tensor], object]:
        shifted = flat - tf.reduce_max(flat, axis=-1, keepdims=True)
        exponentials = tf.exp(shifted)
        total = tf.reduce_sum(exponentials, axis=-1)
        log_total = tf.math.log(total)
        right_logit = tf.gather(shifted, labels, batch_dims=1)
        plain = log_total - right_logit
        # Σ over wrong subwords of -log p = (V - 1) · log Z - (Σ logits - right logit)
        wrong_sum = (
            tf.cast(vocabulary_size - 1, tf.float32) * log_total
            - tf.reduce_sum(shifted, axis=-1)
            + right_logit
        )
        smoothed = right * plain + wrong * wrong_sum

        def gradient(smoothed_upstream: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
            # d smoothed / d logits = softmax - smoothed target distribution
            scale = weights * smoothed_upstream
            dense = exponentials * (scale / total)[:, None] - (wrong * scale)[:, None]
            rows = tf.range(tf.size(labels), dtype=labels.dtype)
            return tf.tensor_scatter_nd_sub(
                dense, tf.stack([rows, labels], axis=-1), (right - wrong) * scale
            )

        return (tf.reduce_sum(weights * smoothed), tf.reduce_sum(weights * plain)), gradient

    return summed(tf.reshape(logits, (-1, vocabulary_size)))
