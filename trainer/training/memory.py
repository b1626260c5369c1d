"""Memory of a training update on one device, by formula from the shapes."""

from typing import NamedTuple

from model.config import TransformerConfig
from trainer.config import TrainingConfig
from trainer.training.loss import LOGITS_PER_CHUNK

_FLOAT32 = 4  # bytes
_RANDOM_BITS = 2  # bytes an element that dropout decides by (`model.kernels.tensorflow_ops`)

BatchShape = tuple[int, int, int]


class Memory(NamedTuple):
    """Bytes on one device while it computes an update.

    weights: in float32, and under mixed precision the copies that products read.
    optimizer: Adam's moments, and the moving average if there is one.
    gradients: in float32; with accumulation, the sum of the parts and those of the present part.
    activations: what the forward pass keeps for the backward pass.
    workspace: the largest operation's temporary arrays.
    """

    weights: float
    optimizer: float
    gradients: float
    activations: float
    workspace: float

    @property
    def total(self) -> float:
        """The sum, without the runtime, the executables and fragmentation."""
        return sum(self)


def estimate_memory(
    transformer: TransformerConfig,
    training: TrainingConfig,
    batch_shape: BatchShape,
    *,
    parameters: int,
    trained: int | None = None,
    vocabulary_size: int,
    replicas: int = 1,
) -> Memory:
    """Estimates the memory of an update compiled by XLA, which keeps what gradients read.

    Without XLA each operation's result is an array of its own, so activations are larger. Frozen
    parts count with the activations that training them would keep.

    Args:
        transformer: the architecture.
        training: precision, accumulation and moving average.
        batch_shape: rows B, source length S and target length T of the global batch, tokens.
        parameters: weights of the model.
        trained: weights that are not frozen; by default all.
        vocabulary_size: V.
        replicas: devices that share the batch.
    """
    compute = _FLOAT32 if training.mixed_precision == "none" else 2
    rows, source, target = batch_shape
    part = (-(-rows // (replicas * training.gradient_accumulation)), source, target)
    copies = compute if compute < _FLOAT32 else 0
    moments = 2 + (training.ema_decay > 0)
    trained = parameters if trained is None else trained
    accumulated = 2 if training.gradient_accumulation > 1 else 1
    return Memory(
        weights=parameters * (_FLOAT32 + copies),
        optimizer=trained * _FLOAT32 * moments,
        gradients=trained * _FLOAT32 * accumulated,
        activations=_activations(transformer, part, compute)
        + _loss_activations(transformer, part, compute, vocabulary_size),
        workspace=_workspace(transformer, part, compute, vocabulary_size),
    )


def _activations(config: TransformerConfig, shape: BatchShape, compute: int) -> float:
    """Bytes of embeddings, encoder and decoder.

    Each sublayer keeps its sum with the residual, its normalised output and the random bits of its
    dropout; normalisation before the sublayer keeps as much.
    """
    rows, source, target = shape
    bits = _RANDOM_BITS if config.dropout else 0
    residual = config.model_dim * (2 * compute + bits)
    embedded = config.model_dim * (compute + bits)
    inner_bits = _RANDOM_BITS + compute if config.relu_dropout else 0
    feed_forward = config.feed_forward_dim * (compute + inner_bits)
    encoder = source * (2 * residual + feed_forward) + _attention(config, source, source, compute)
    decoder = (
        target * (3 * residual + feed_forward)
        + _attention(config, target, target, compute)
        + _attention(config, target, source, compute)
    )
    layers = config.depths.encoder * encoder + config.depths.decoder * decoder
    return rows * ((source + target) * embedded + layers)


def _attention(config: TransformerConfig, queries: int, keys: int, compute: int) -> float:
    """Bytes of one row's queries, keys, values, weights and attended values, all heads."""
    positions = queries * (config.key_dim + config.value_dim)
    positions += keys * (config.key_dim + config.value_dim)
    dropout = compute + _RANDOM_BITS if config.attention_dropout else 0
    weights = queries * keys * (_FLOAT32 + dropout)
    return config.num_heads * (positions * compute + weights)


def _loss_activations(
    config: TransformerConfig, shape: BatchShape, compute: int, vocabulary_size: int
) -> float:
    """Bytes of the loss's two gradients, which its forward pass computes (`training.loss`)."""
    rows, _, target = shape
    to_states = rows * target * config.model_dim * compute
    return to_states + vocabulary_size * config.model_dim * _FLOAT32


def _workspace(
    config: TransformerConfig, shape: BatchShape, compute: int, vocabulary_size: int
) -> float:
    """Bytes of the largest of: a chunk of logits, and the gradients of one sublayer's inside."""
    rows, source, target = shape
    longest = max(source, target)
    chunk = min(rows * target * vocabulary_size, max(LOGITS_PER_CHUNK, vocabulary_size))
    logits = chunk * 2 * _FLOAT32  # logits and exponentials
    weights = rows * config.num_heads * longest**2 * 2 * _FLOAT32  # gradients of weights, scores
    feed_forward = rows * longest * config.feed_forward_dim * 2 * compute
    return max(logits, weights, feed_forward)
