"""Label-smoothed cross-entropy in nats, summed over real target tokens (§5.4).

By definition, for N tokens with states [N, D], labels [N], weights [N] (0 for padding, else 1) and
an output embedding [V, D]:

    log_probabilities = tf.nn.log_softmax(tf.matmul(states, matrix, transpose_b=True))  # [N, V]
    wrong = label_smoothing / (vocabulary_size - 1)
    distribution = tf.one_hot(labels, vocabulary_size, 1 - label_smoothing, wrong)      # [N, V]
    losses = -tf.reduce_sum(distribution * log_probabilities, axis=-1)                  # [N]
    smoothed = tf.reduce_sum(weights * losses)
    nll = -tf.reduce_sum(weights * tf.gather(log_probabilities, labels, batch_dims=1))

An array [N, V] is the largest of a training step, so none is made. With state h and logits z = W h
of a token, its label y and weight w, its log-normaliser Z = log Σ_v exp z_v, hence -log p_v =
Z - z_v, and q = ε / (V - 1):

    smoothed = (1 - ε - q) nll + q (V normalizer - Σ w h · Σ_v W_v)
    nll = Σ w (Z - z_y)        normalizer = Σ w Z

where Σ is over tokens. Only nll and normalizer need the softmax p. If a and b are the gradients of
the loss with respect to these two,

    (1)  ∂/∂z = w ((a + b) p - a one_hot(y))
    (2)  ∂/∂h = (a + b) w Wᵀ p        - a w W_y
    (3)  ∂/∂W = (a + b) Σ w p hᵀ      - a Σ w one_hot(y) hᵀ

The factors of (a + b), w Wᵀ p and Σ w p hᵀ, depend on neither a nor b. So they are computed in the
forward pass, one chunk of tokens after another, and the logits of a chunk are then discarded.
"""

from typing import Any, Literal, NamedTuple

import tensorflow as tf

from pipeline.dataset.schema import PADDING_ID

LOGITS_PER_CHUNK = 2**25  # 128 MiB of float32


def smoothing_mass(
    label_smoothing: float, *, over: Literal["all", "wrong"], vocabulary_size: int
) -> float:
    """Returns the probability that smoothed targets give to all wrong subwords together.

    Args:
        label_smoothing: ε_ls, 0 to 1.
        over: "all" spreads ε_ls over all V subwords, which gives ε_ls / V back to the right one
            (Szegedy et al. 2016, §7, cited by §5.4); "wrong" over the V - 1 wrong ones
            (Tensor2Tensor).
        vocabulary_size: V.
    """
    if over == "wrong":
        return label_smoothing
    return label_smoothing * (vocabulary_size - 1) / vocabulary_size


def cross_entropy(
    states: tf.Tensor,
    matrix: tf.Tensor,
    target: tf.Tensor,
    *,
    label_smoothing: float,
    logits_per_chunk: int = LOGITS_PER_CHUNK,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Sums the smoothed and the plain cross-entropy over the real tokens of `target`.

    Args:
        states: `[B, T, D]`, the decoder's output. Logits are computed in its dtype, their softmax
            in float32.
        matrix: float32 `[V, D]`, the output embedding.
        target: int `[B, T]`, padded with `PADDING_ID`.
        label_smoothing: ε, 0 to 1: probability of all wrong subwords together (`smoothing_mass`).
        logits_per_chunk: logits in memory at a time.

    Returns:
        Two float32 scalars, nats: the smoothed sum, which is differentiable, and the plain sum,
        which is not.
    """
    vocabulary_size, model_dim = matrix.shape
    states = tf.reshape(states, (-1, model_dim))  # [N, D], N = B * T
    labels = tf.reshape(target, (-1,))
    weights = tf.cast(labels != PADDING_ID, tf.float32)
    matrix_tensor = tf.convert_to_tensor(matrix)
    nll, normalizer = _softmax_sums(states, matrix_tensor, labels, weights, logits_per_chunk)
    summed_states = tf.linalg.matvec(tf.cast(states, tf.float32), weights, transpose_a=True)  # [D]
    logits_sum = tf.tensordot(summed_states, tf.reduce_sum(matrix, axis=0), axes=1)
    uniform = vocabulary_size * normalizer - logits_sum  # Σ over tokens and subwords of -log p
    wrong = label_smoothing / (vocabulary_size - 1)
    smoothed = (1.0 - label_smoothing - wrong) * nll + wrong * uniform
    return smoothed, tf.stop_gradient(nll)


def _softmax_sums(
    states: tf.Tensor,
    matrix: tf.Tensor,
    labels: tf.Tensor,
    weights: tf.Tensor,
    logits_per_chunk: int,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns `nll` and `normalizer` with the gradients (2) and (3)."""

    @tf.custom_gradient
    def sums_of(states: tf.Tensor, matrix: tf.Tensor) -> tuple[tuple[tf.Tensor, ...], Any]:
        softmax = _sum_chunks(states, matrix, labels, weights, logits_per_chunk)

        def gradient(to_nll: tf.Tensor, to_normalizer: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            both, of_label = to_nll + to_normalizer, to_nll * weights[:, None]  # a + b, a w
            to_states = both * tf.cast(softmax.to_states, tf.float32)
            to_states -= of_label * tf.gather(matrix, labels)  # (2)
            to_matrix = tf.tensor_scatter_nd_sub(  # (3)
                both * softmax.to_matrix, labels[:, None], of_label * tf.cast(states, tf.float32)
            )
            return tf.cast(to_states, states.dtype), to_matrix

        return tuple(tf.unstack(softmax.sums, num=2)), gradient

    nll, normalizer = sums_of(states, matrix)
    return nll, normalizer


class _Softmax(NamedTuple):
    """What a softmax over chunks of tokens, or over all, comes to.

    sums: float32 `[2]`, `nll` and `normalizer`.
    to_states: `[tokens, D]`, w Wᵀ p for each token, in the states' dtype.
    to_matrix: float32 `[V, D]`, Σ w p hᵀ.
    """

    sums: tf.Tensor
    to_states: tf.Tensor
    to_matrix: tf.Tensor


def _sum_chunks(
    states: tf.Tensor,
    matrix: tf.Tensor,
    labels: tf.Tensor,
    weights: tf.Tensor,
    logits_per_chunk: int,
) -> _Softmax:
    """Computes the softmax of all tokens in equal chunks, one after another."""
    tokens, model_dim = tf.shape(labels)[0], states.shape[1]
    chunks = _ceil_div(tokens, max(1, logits_per_chunk // matrix.shape[0]))
    size = _ceil_div(tokens, chunks)
    outputs = tf.cast(matrix, states.dtype)

    def split(x: tf.Tensor) -> tf.Tensor:
        """Reshapes `[N, …]` to `[chunks, size, …]`, the last chunk padded with zeros."""
        padding = [(0, chunks * size - tokens), *[(0, 0)] * (len(x.shape) - 1)]
        return tf.reshape(tf.pad(x, padding), (chunks, size, *x.shape[1:]))

    split_states, split_labels, split_weights = map(split, (states, labels, weights))

    def add_chunk(
        i: tf.Tensor, sums: tf.Tensor, to_states: tf.TensorArray, to_matrix: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        chunk = _softmax_of(split_states[i], outputs, split_labels[i], split_weights[i])
        to_states = to_states.write(i, chunk.to_states)
        return i + 1, sums + chunk.sums, to_states, to_matrix + chunk.to_matrix

    _, sums, to_states, to_matrix = tf.while_loop(
        lambda i, *_: i < chunks,
        add_chunk,
        (0, tf.zeros(2), tf.TensorArray(states.dtype, chunks), tf.zeros(matrix.shape)),
        parallel_iterations=1,
    )
    return _Softmax(sums, tf.reshape(to_states.stack(), (-1, model_dim))[:tokens], to_matrix)


def _softmax_of(
    states: tf.Tensor, outputs: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor
) -> _Softmax:
    """Computes the softmax of one chunk; `outputs` is the matrix in the states' dtype."""
    logits = tf.cast(tf.matmul(states, outputs, transpose_b=True), tf.float32)  # [size, V]
    largest = tf.reduce_max(logits, axis=-1)
    exponentials = tf.exp(logits - largest[:, None])  # [size, V]
    total = tf.reduce_sum(exponentials, axis=-1)
    log_normalizer = tf.math.log(total) + largest  # [size]
    nll = log_normalizer - tf.gather(logits, labels, batch_dims=1)
    sums = tf.stack([tf.reduce_sum(weights * nll), tf.reduce_sum(weights * log_normalizer)])
    # w p = exponentials · w / total, of which the second factor, [size, 1], multiplies [size, D].
    exponentials = tf.cast(exponentials, states.dtype)
    share = tf.cast((weights / total)[:, None], states.dtype)
    to_states = tf.matmul(exponentials, outputs) * share
    to_matrix = tf.cast(tf.matmul(exponentials, states * share, transpose_a=True), tf.float32)
    return _Softmax(sums, to_states, to_matrix)


def _ceil_div(dividend: tf.Tensor, divisor: tf.Tensor | int) -> tf.Tensor:
    """Divides positive integers, rounding up."""
    return (dividend + divisor - 1) // divisor
