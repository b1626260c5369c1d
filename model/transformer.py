"""The Transformer: embeddings, encoder, decoder and logits (§3, figure 1)."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
from keras import ops

from model import Tensor
from model.config import SearchConfig, TransformerConfig
from model.configured import register, restore_config
from model.decoder import Decoder
from model.embedding import SharedEmbedding, TargetSpace
from model.encoder import Encoder
from model.kernels.chunks import map_chunks
from model.kernels.gather import batch_gather
from model.kernels.linear import find_linears
from model.masks import (
    END_ID,
    PADDING_ID,
    causal_mask,
    number_sentences,
    padding_mask,
    positions_in_sentences,
    sentence_mask,
    window_mask,
)
from model.positions import make_positions
from model.search.ensemble import average_steps, join_caches
from model.search.search import Prediction, Step, Translations, search
from model.search.state import Ancestry, Cache
from model.sublayers import Dropout

# Logits in memory at a time when translations are scored: 32 MiB, and as much again twice on the
# way. All logits of a batch would be gigabytes: 64 translations of 306 tokens over 37,000 subwords
# have 725 million.
_LOGITS_PER_CHUNK = 2**23


@register
class Transformer(keras.Model):
    """The paper's encoder-decoder, with one embedding matrix for both languages and the output.

    Languages with separate vocabularies have a matrix each; the target's is also the output's.

    The weights exist as soon as the object does. Training calls the model; `search` calls
    `encode` once and its step once for each output position.

    A row may hold several pairs end to end, which saves padding: sentence n of its target is the
    translation of sentence n of its source, and attention is within a pair only.

    Args:
        config: the architecture.
        vocabulary_size: V, subwords of the target, padding included; also of the source, unless
            it has its own vocabulary.
        source_vocabulary_size: subwords of a source that shares neither vocabulary nor embedding
            matrix with the target; None if it shares both (§3.4).
        name: of the model.

    Call arguments:
        source: int `[B, S]`, sentences of ids, each closed by `END_ID`, then padding; or both
            sides as one argument, which is all that `fit` passes: a pair, or a mapping with
            "source" and "target".
        target: int `[B, T]`, of the same form. Position t is predicted from the target before t:
            the model shifts each sentence right itself, with padding as the start symbol.
        training: whether dropout is active.

    Returns:
        float32 `[B, T, V]`, logits of the target at each position.
    """

    def __init__(
        self,
        config: TransformerConfig,
        vocabulary_size: int,
        *,
        source_vocabulary_size: int | None = None,
        name: str = "transformer",
    ) -> None:
        super().__init__(name=name)
        self.config = config
        self.vocabulary_size = vocabulary_size
        self.source_vocabulary_size = source_vocabulary_size
        self.embedding = SharedEmbedding(config, vocabulary_size, name="embedding")
        self.source_embedding = self.embedding
        if source_vocabulary_size is not None:
            self.source_embedding = SharedEmbedding(
                config, source_vocabulary_size, name="source_embedding"
            )
        self.positions = make_positions(config)
        self.target_space = (
            TargetSpace(config, name="target_space") if config.target_space else None
        )
        self.source_dropout = Dropout(config.dropout, name="source_dropout")
        self.target_dropout = Dropout(config.dropout, name="target_dropout")
        self.encoder = Encoder(config, "encoder")
        self.decoder = Decoder(config, "decoder")
        self.build()

    def build(self, input_shape: Any = None) -> None:
        self.embedding.build()
        if self.source_embedding is not self.embedding:
            self.source_embedding.build()
        self.positions.build(None)
        if self.target_space:
            self.target_space.build()
        self.encoder.build()
        self.decoder.build()
        self.built = True

    def get_config(self) -> dict[str, Any]:
        return {
            "config": dataclasses.asdict(self.config),
            "vocabulary_size": self.vocabulary_size,
            "source_vocabulary_size": self.source_vocabulary_size,
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> "Transformer":
        """Makes the model that `get_config` describes, with fresh weights."""
        return cls(**restore_config(config))

    def optimize_for_search(self) -> None:
        """Lays out the loaded weights for search, which is faster and gives the same results.

        For search alone: some kernels get columns of zeros, so the model can neither be trained
        nor saved as a checkpoint afterwards (`model.kernels.linear`).
        """
        for linear in find_linears(self):
            linear.optimize_for_search()

    def call(self, source: Tensor, target: Tensor | None = None, training: bool = False) -> Tensor:
        if target is None:
            source, target = _split_sides(source)
        return self.embedding.logits(self.decode(source, target, training=training))

    def decode(self, source: Tensor, target: Tensor, training: bool = False) -> Tensor:
        """Runs encoder and decoder: the input of the map to logits, float `[B, T, D]`."""
        memory = self.encode(source, training=training)
        sentences = number_sentences(target)
        x = self._embed(self.embedding, shift_right(target), positions_in_sentences(sentences))
        return self.decoder(
            self.target_dropout(x, training=training),
            memory,
            self_mask=sentence_mask(sentences, sentences) & causal_mask(ops.shape(target)[1]),
            memory_mask=sentence_mask(sentences, number_sentences(source)),
            training=training,
        )

    def encode(self, source: Tensor, training: bool = False) -> Tensor:
        """Encodes `source`, int `[B, S]`, into the memory, float `[B, S, D]`."""
        sentences = number_sentences(source)
        x = self._embed(self.source_embedding, source, positions_in_sentences(sentences))
        x = self.target_space(x) if self.target_space else x
        x = self.source_dropout(x, training=training)
        mask = sentence_mask(sentences, sentences)
        if self.config.attention_window:
            mask &= window_mask(ops.shape(source)[1], self.config.attention_window)
        return self.encoder(x, attention_mask=mask, training=training)

    def start_search(self, source: Tensor) -> Cache:
        """Encodes `source`, int `[B, S]`, into the cache of the first step."""
        memory = self.decoder.project_memory(self.encode(source))
        past = self.decoder.empty_past(ops.shape(source)[0])
        return Cache(past, fixed=(memory, padding_mask(source)))

    def make_step(self) -> Step:
        """Makes the step callback of `model.search.search`, see `Decoder.step`."""
        logits = self.embedding.make_logits()

        def step(tokens: Tensor, position: Tensor, ancestry: Ancestry, cache: Cache) -> Prediction:
            memory, memory_mask = cache.fixed
            x, past, attention = self.decoder.step(
                self._embed(self.embedding, tokens, ops.reshape(position, (1,))),
                cache.past,
                memory,
                ancestry=ancestry,
                memory_mask=memory_mask,
            )
            return Prediction(logits(x), past, attention)

        return step

    def search(
        self,
        source: Tensor,
        config: SearchConfig,
        *,
        prefix: Tensor | None = None,
        ensemble: Sequence["Transformer"] = (),
    ) -> Translations:
        """Translates by beam search or sampling with the decoder's cache (§6.1).

        Args:
            source: int32 `[B, S]`, ids ending in the end symbol, then padding.
            config: how to search. The longest translation has as many tokens as its source plus
                `config.extra_length`, end symbols included. An empty source, the end symbol alone,
                has the empty translation.
            prefix: int32 `[B, P]`, tokens that translations must begin with, then padding; they
                add to the longest translation.
            ensemble: more models of the same vocabulary; the predictions of all are averaged.

        Returns:
            `config.n_best` translations of each sentence, best first.
        """
        models = (self, *ensemble)
        lengths = _count_tokens(source)
        limits = ops.where(lengths > 1, lengths + config.extra_length, 1)  # [B]
        if prefix is not None:
            limits = limits + _count_tokens(prefix)
        return search(
            average_steps([model.make_step() for model in models]),
            join_caches([model.start_search(source) for model in models]),
            length_limits=limits,
            config=config,
            prefix=prefix,
            source=source,
        )

    def token_log_probs(self, source: Tensor, target: Tensor) -> Tensor:
        """Scores given translations by teacher forcing, in memory that their number hardly changes.

        Args:
            source: int `[B, S]`, as in calling the model.
            target: int `[B, T]`, as in calling the model.

        Returns:
            float32 `[B, T]`, log-probability in nats of each token of `target`; 0 for padding.
        """
        log_probs = self._map_logits(source, target, _log_probs)[..., 0]
        return ops.where(ops.equal(target, PADDING_ID), 0.0, log_probs)

    def token_scores(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Scores given translations and tells where the model would have chosen the same token.

        Returns:
            `token_log_probs`, and bool `[B, T]`, whether no token is more probable; padding is
            False.
        """
        scores = self._map_logits(source, target, _log_probs_and_rank, columns=2)
        is_padding = ops.equal(target, PADDING_ID)
        log_probs = ops.where(is_padding, 0.0, scores[..., 0])
        return log_probs, ~is_padding & (scores[..., 1] > 0)

    def _map_logits(
        self,
        source: Tensor,
        target: Tensor,
        function: Callable[[Tensor, Tensor], Tensor],
        columns: int = 1,
    ) -> Tensor:
        """Computes figures of each target token from its logits, few tokens at a time.

        Args:
            source: int `[B, S]`.
            target: int `[B, T]`.
            function: from logits, float32 `[n, V]`, and labels, int32 `[n]`, to `[n, columns]`.
            columns: figures of a token.

        Returns:
            float32 `[B, T, columns]`.
        """
        make_logits = self.embedding.make_logits()
        rows = (
            ops.reshape(self.decode(source, target), (-1, self.config.model_dim)),
            ops.reshape(ops.cast(target, "int32"), (-1,)),
        )
        size = max(1, _LOGITS_PER_CHUNK // self.vocabulary_size)
        figures = map_chunks(
            lambda states, labels: function(make_logits(states), labels),
            rows,
            rows_per_chunk=size,
            columns=columns,
        )  # [B * T, columns]
        return ops.reshape(figures, (*ops.shape(target), columns))

    def _embed(self, embedding: SharedEmbedding, tokens: Tensor, positions: Tensor) -> Tensor:
        """Adds √D · embedding and positions in float32: bfloat16 rounds far positions."""
        embedded = ops.cast(embedding(tokens), "float32") + self.positions(positions)
        return ops.cast(embedded, self.compute_dtype)


def _log_probs(logits: Tensor, labels: Tensor) -> Tensor:
    """Returns the log-probabilities of labels, `[n, 1]`."""
    return batch_gather(logits, labels[:, None]) - ops.logsumexp(logits, axis=-1, keepdims=True)


def _log_probs_and_rank(logits: Tensor, labels: Tensor) -> Tensor:
    """Returns the log-probabilities of labels and whether each is the most probable, `[n, 2]`."""
    is_top = ops.equal(
        batch_gather(logits, labels[:, None]), ops.max(logits, axis=-1, keepdims=True)
    )
    return ops.concatenate([_log_probs(logits, labels), ops.cast(is_top, "float32")], axis=1)


def shift_right(target: Tensor) -> Tensor:
    """Shifts each sentence of `target`, int `[B, T]`, right, behind the start symbol.

    `[6, 1, 3, 4, 1]`, two sentences, gives `[0, 6, 0, 3, 4]`.
    """
    shifted = ops.pad(target[:, :-1], ((0, 0), (1, 0)), constant_values=PADDING_ID)
    return ops.where(ops.equal(shifted, END_ID), PADDING_ID, shifted)


def _split_sides(sides: Any) -> tuple[Tensor, Tensor]:
    """Returns source and target of a mapping or of a pair."""
    if isinstance(sides, Mapping):
        return sides["source"], sides["target"]
    if isinstance(sides, tuple | list):
        source, target = sides
        return source, target
    raise ValueError(
        "received a source without a target: expected both, a pair of them, or a mapping with "
        '"source" and "target"'
    )


def _count_tokens(tokens: Tensor) -> Tensor:
    """Counts the tokens of each row of int `[B, T]`, without padding: int32 `[B]`."""
    return ops.sum(ops.cast(ops.not_equal(tokens, PADDING_ID), "int32"), axis=1)
