"""Export to CTranslate2, a C++ engine for fast translation on CPUs and GPUs, also in int8.

CTranslate2 translates subwords into subwords; the files of the vocabularies are written to the same
directory. The decoder starts from padding, as ours does. Positions are stored as a table, whose
length is the longest sentence.
"""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from keras import ops

from model.attention import MultiHeadAttention
from model.config import TransformerConfig
from model.encoder import EncoderLayer
from model.kernels.linear import Linear
from model.sublayers import FeedForward, layer_normalization
from model.transformer import Transformer
from pipeline.common.errors import UserError
from pipeline.common.storage import write_atomically
from pipeline.dataset.schema import END_ID, PADDING_ID, SIDES, UNKNOWN_ID
from pipeline.subwords.encoding import load_subwords
from trainer.inference.translator import Translator
from trainer.runs.run_directory import Run


def save_ctranslate2(run: Run, translator: Translator, directory: Path, *, weights: str) -> None:
    """Writes a directory that `ctranslate2.Translator` loads, with the files of the subwords.

    Args:
        run: has the subwords of the model.
        translator: the model, and the length limits of its search.
        directory: does not exist yet.
        weights: the type in which CTranslate2 stores weights, such as "float32" or "int8".

    Raises:
        UserError: ctranslate2 is not installed, or cannot express the architecture.
    """
    _check(translator.transformer.config)
    specs = _import_specs()
    longest = translator.search.max_source_length + translator.search.extra_length
    spec = _fill(specs, translator.transformer, longest=longest)
    pieces = {side: _pieces(run, side) for side in SIDES}
    spec.register_source_vocabulary(pieces["source"])
    spec.register_target_vocabulary(pieces["target"])
    spec.config.decoder_start_token = spec.config.bos_token = pieces["target"][PADDING_ID]
    spec.config.eos_token = pieces["target"][END_ID]
    spec.config.unk_token = pieces["target"][UNKNOWN_ID]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = layer_normalization("norm").epsilon
    spec.validate()
    spec.optimize(quantization=weights)
    directory.mkdir(parents=True)
    spec.save(str(directory))
    for side in SIDES:
        path = run.subwords_path(side)
        write_atomically(str(directory / path.name), path.read_bytes())


def _import_specs() -> Any:
    try:
        return importlib.import_module("ctranslate2.specs")
    except ImportError as error:
        raise UserError(
            "--format=ctranslate2 needs the ctranslate2 package: pip install '.[ctranslate2]'"
        ) from error


def _check(config: TransformerConfig) -> None:
    """Raises UserError for an architecture that CTranslate2 cannot express."""
    head_dim = config.model_dim / config.num_heads
    if not config.key_dim == config.value_dim == head_dim:
        raise UserError(
            f"CTranslate2 expects key_dim and value_dim of model_dim / num_heads ({head_dim:g}), "
            f"received a run with {config.key_dim} and {config.value_dim}: export a SavedModel"
        )
    if config.attention_window:
        raise UserError(
            "CTranslate2 expects attention to whole sentences, received a run with "
            f"--attention_window={config.attention_window}: export a SavedModel"
        )


def _fill(specs: Any, transformer: Transformer, *, longest: int) -> Any:
    """Returns CTranslate2's description of the model, with the weights."""
    config = transformer.config
    spec = specs.TransformerSpec.from_config(
        tuple(config.depths), config.num_heads, pre_norm=config.norm == "pre"
    )
    encoder, decoder = spec.encoder, spec.decoder
    positions = _array(transformer.positions(ops.arange(longest)))
    space = _array(transformer.target_space.vector) if transformer.target_space else 0.0
    encoder.position_encodings.encodings = positions + space
    decoder.position_encodings.encodings = positions
    encoder.embeddings[0].weight = _array(transformer.source_embedding.matrix)
    decoder.embeddings.weight = decoder.projection.weight = _array(transformer.embedding.matrix)
    decoder.start_from_zero_embedding = config.padding_embedding == "zeros"
    for into, layer in zip(encoder.layer, transformer.encoder.layers, strict=True):
        _fill_layer(into, layer)
    for into, layer in zip(decoder.layer, transformer.decoder.layers, strict=True):
        _fill_layer(into, layer)
        query, key, value = _projections(layer.memory_attention)
        _fill_linear(into.attention.linear[0], query)
        _fill_linear(into.attention.linear[1], np.concatenate([key, value], axis=1))
        _fill_linear(into.attention.linear[2], *_kernel(layer.memory_attention.output_projection))
        _fill_norm(into.attention.layer_norm, layer.memory_attention_residual.norm)
    if config.norm == "pre":
        _fill_norm(encoder.layer_norm, transformer.encoder.last_norm)
        _fill_norm(decoder.layer_norm, transformer.decoder.last_norm)
    return spec


def _fill_layer(into: Any, layer: EncoderLayer) -> None:
    """Copies what encoder and decoder layers share: self-attention and feed-forward."""
    fused = np.concatenate(_projections(layer.self_attention), axis=1)
    _fill_linear(into.self_attention.linear[0], fused)
    _fill_linear(into.self_attention.linear[1], *_kernel(layer.self_attention.output_projection))
    _fill_norm(into.self_attention.layer_norm, layer.self_attention_residual.norm)
    feed_forward: FeedForward = layer.feed_forward
    _fill_linear(into.ffn.linear_0, *_kernel(feed_forward.inner))
    _fill_linear(into.ffn.linear_1, *_kernel(feed_forward.outer))
    _fill_norm(into.ffn.layer_norm, layer.feed_forward_residual.norm)


def _projections(attention: MultiHeadAttention) -> list[np.ndarray]:
    return [_kernel(linear)[0] for linear in (attention.query, attention.key, attention.value)]


def _kernel(linear: Linear) -> list[np.ndarray]:
    """Returns the kernel, then the bias if it has one, without columns for search."""
    return [_array(weight)[..., : linear.size] for weight in linear.weights]


def _fill_linear(into: Any, kernel: np.ndarray, bias: np.ndarray | None = None) -> None:
    into.weight = np.ascontiguousarray(kernel.T)  # [outputs, inputs] there
    if bias is not None:
        into.bias = bias


def _fill_norm(into: Any, norm: Any) -> None:
    into.gamma, into.beta = _array(norm.gamma), _array(norm.beta)


def _array(tensor: Any) -> np.ndarray:
    return ops.convert_to_numpy(tensor).astype(np.float32)


def _pieces(run: Run, side: str) -> list[str]:
    subwords = load_subwords(run.subwords_path(side))
    return subwords.pieces(range(subwords.vocabulary_size))
