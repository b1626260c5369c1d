"""Label-smoothed cross-entropy in nats, summed over real target tokens (§5.4)."""

from typing import Literal

import tensorflow as tf

from pipeline.dataset.schema import PADDING_ID

_LOGITS_AT_ONCE = 2**25  # 128 MiB of float32


def smoothing_mass(
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
    states: tf.Tensor, matrix: tf.Tensor, target: tf.Tensor, *, label_smoothing: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Sums the smoothed and the plain cross-entropy over the real tokens of `target`.

    The logits are the products of `states` and the rows of `matrix`. The smoothed target
    distribution gives 1 - ε to the right subword and ε / (V - 1) to each wrong one; padding has
    weight 0. No array of all tokens times all subwords is made, nor kept for the backward pass.

    Args:
        states: `[B, T, D]`, the decoder's; their type is that of the products, whose softmax is
            in float32.
        matrix: float32 `[V, D]`, the output embedding.
        target: int `[B, T]`, padded with `PADDING_ID`.
        label_smoothing: ε, 0 to 1: the `smoothing_mass`.

    Returns:
        Two float32 scalars, nats: the smoothed sum, which is differentiable, and the plain sum,
        which is not.
    """
    vocabulary_size, model_dim = matrix.shape
    states = tf.reshape(states, (-1, model_dim))  # [N, D], N = B * T
    labels = tf.reshape(target, (-1,))
    weights = tf.cast(labels != PADDING_ID, tf.float32)
    nll, log_normalizer = _softmax_sums(states, tf.convert_to_tensor(matrix), labels, weights)
    # The sum of a token's logits is the product of its state and the sum of all embeddings.
    summed_states = tf.linalg.matvec(tf.cast(states, tf.float32), weights, transpose_a=True)
    logits_sum = tf.tensordot(summed_states, tf.reduce_sum(matrix, axis=0), axes=1)
    uniform = vocabulary_size * log_normalizer - logits_sum  # Σ over all subwords of -log p
    wrong = label_smoothing / (vocabulary_size - 1)
    smoothed = (1.0 - label_smoothing - wrong) * nll + wrong * uniform
    return smoothed, tf.stop_gradient(nll)


@tf.custom_gradient
def _softmax_sums(
    states: tf.Tensor, matrix: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor
) -> tuple[tuple[tf.Tensor, tf.Tensor], object]:
    """Sums, weighted, -log p(label) and the softmax's logarithmic normaliser, log Σ exp(logit).

    The gradients of both are known but for a factor, so they are computed at once, and the logits
    forgotten: those of one part of the tokens after the other.
    """
    tokens, model_dim = tf.shape(labels)[0], states.shape[1]
    most = max(1, _LOGITS_AT_ONCE // matrix.shape[0])
    parts = -(-tokens // most)
    size = -(-tokens // parts)
    outputs = tf.cast(matrix, states.dtype)

    def divide(x: tf.Tensor) -> tf.Tensor:
        """Divides the first dimension into equal parts, the last one padded with zeros."""
        padding = [(0, parts * size - tokens), *[(0, 0)] * (len(x.shape) - 1)]
        return tf.reshape(tf.pad(x, padding), (parts, size, *x.shape[1:]))

    part_states, part_labels, part_weights = map(divide, (states, labels, weights))

    def add_part(
        part: tf.Tensor, sums: tf.Tensor, to_states: tf.TensorArray, to_matrix: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        x, label, weight = part_states[part], part_labels[part], part_weights[part]
        logits = tf.cast(tf.matmul(x, outputs, transpose_b=True), tf.float32)  # [size, V]
        largest = tf.reduce_max(logits, axis=-1)
        exponentials = tf.exp(logits - largest[:, None])
        total = tf.reduce_sum(exponentials, axis=-1)
        log_normalizer = tf.math.log(total) + largest
        nll = log_normalizer - tf.gather(logits, label, batch_dims=1)
        sums += tf.stack([tf.reduce_sum(weight * nll), tf.reduce_sum(weight * log_normalizer)])
        # d log_normalizer / d logits = softmax = exponentials / total
        exponentials = tf.cast(exponentials, x.dtype)
        share = tf.cast((weight / total)[:, None], x.dtype)
        to_states = to_states.write(part, tf.matmul(exponentials, outputs) * share)
        to_matrix += tf.cast(tf.matmul(exponentials, x * share, transpose_a=True), tf.float32)
        return part + 1, sums, to_states, to_matrix

    _, sums, softmax_to_states, softmax_to_matrix = tf.while_loop(
        lambda part, *_: part < parts,
        add_part,
        (0, tf.zeros(2), tf.TensorArray(states.dtype, parts), tf.zeros(matrix.shape)),
        parallel_iterations=1,
    )
    softmax_to_states = tf.reshape(softmax_to_states.stack(), (-1, model_dim))[:tokens]

    def gradient(nll: tf.Tensor, log_normalizer: tf.Tensor) -> tuple[tf.Tensor | None, ...]:
        # d nll / d logits = softmax - one_hot(label)
        softmax, right = nll + log_normalizer, nll * weights[:, None]
        to_states = softmax * tf.cast(softmax_to_states, tf.float32)
        to_states -= right * tf.gather(matrix, labels)
        to_matrix = tf.tensor_scatter_nd_sub(
            softmax * softmax_to_matrix, labels[:, None], right * tf.cast(states, tf.float32)
        )
        return tf.cast(to_states, states.dtype), to_matrix, None, None

    return (sums[0], sums[1]), gradient
