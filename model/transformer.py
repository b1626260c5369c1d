"""The Transformer: embeddings, encoder, decoder and logits (§3, figure 1)."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from model import Tensor
from model.config import SearchConfig, TransformerConfig
from model.decoder import Decoder
from model.embedding import SharedEmbedding, TargetSpace
from model.encoder import Encoder
from model.kernels.linear import find_linears
from model.masks import (
    END_ID,
    PADDING_ID,
    causal_mask,
    number_sentences,
    padding_mask,
    positions_in_sentences,
    sentence_mask,
)
from model.positions import make_positions
from model.search.ensemble import average_steps, join_caches
from model.search.search import Prediction, Step, Translations, search
from model.search.state import Cache, Lineage
from model.sublayers import Dropout


class Transformer(keras.Model):
    """The paper's encoder-decoder, with one embedding matrix for both languages and the output.

    Languages that share no vocabulary have a matrix each; the target's is the output's too.

    The weights exist as soon as the object does. Training calls the model; `search` calls
    `encode` once and its step once per output position.

    A row may hold several pairs end to end, which saves padding: sentence n of its target is the
    translation of sentence n of its source, and none sees another.

    Args:
        config: the architecture.
        vocabulary_size: V, subwords of the target, padding included; also of the source, unless
            it has a vocabulary of its own.
        source_vocabulary_size: subwords of a source that shares neither vocabulary nor embedding
            matrix with the target; None if it shares both (§3.4).

    Call arguments:
        source: int `[B, S]`, sentences of ids, each closed by `END_ID`, then padding.
        target: int `[B, T]`, likewise. Position t sees only the target before t: the model shifts
            each sentence right itself, with padding as the start symbol.
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

    def optimize_for_search(self) -> None:
        """Lays out the loaded weights for search, which is faster and gives the same results.

        For search alone: some kernels get columns of zeros, so the model can neither be trained
        nor saved as a checkpoint afterwards (`model.kernels.linear`).
        """
        for linear in find_linears(self):
            linear.optimize_for_search()

    def call(self, source: Tensor, target: Tensor, training: bool = False) -> Tensor:
        return self.embedding.logits(self.decode(source, target, training=training))

    def decode(self, source: Tensor, target: Tensor, training: bool = False) -> Tensor:
        """As calling the model, but for the last map: what logits are made of, `[B, T, D]`."""
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
        return self.encoder(x, attention_mask=mask, training=training)

    def start_search(self, source: Tensor) -> Cache:
        """Encodes `source`, int `[B, S]`, into what the first step is given."""
        memory = self.decoder.project_memory(self.encode(source))
        past = self.decoder.empty_past(ops.shape(source)[0])
        return Cache(past, fixed=(memory, padding_mask(source)))

    def make_step(self) -> Step:
        """Makes the step of `model.search.search`: it predicts the next token of every hypothesis.

        Its past is one of `Decoder.step`; the attention, float `[B, W, S]`, is the last layer's.
        """
        logits = self.embedding.make_logits()

        def step(tokens: Tensor, position: Tensor, lineage: Lineage, cache: Cache) -> Prediction:
            memory, memory_mask = cache.fixed
            x, past, attention = self.decoder.step(
                self._embed(self.embedding, tokens, ops.reshape(position, (1,))),
                cache.past,
                memory,
                lineage=lineage,
                memory_mask=memory_mask,
            )
            return Prediction(logits(x), past, attention)

        return step

    def search(
        self,
        source: Tensor,
        config: SearchConfig,
        *,
        end_id: int,
        prefix: Tensor | None = None,
        ensemble: Sequence["Transformer"] = (),
    ) -> Translations:
        """Translates by beam search or sampling with the decoder's cache (§6.1).

        Args:
            source: int32 `[B, S]`, ids ending in the end symbol, then padding.
            config: how to search; the longest translation is that of the source, in tokens, plus
                `config.extra_length`, the end symbols counted in both. Where there is nothing but
                the end symbol, nothing but the end symbol translates it.
            end_id: the end symbol.
            prefix: int32 `[B, P]`, tokens that translations must begin with, then padding; the
                longest translation is longer by as many.
            ensemble: more models of the same vocabulary; the predictions of all are averaged.

        Returns:
            `config.n_best` translations of each sentence, best first.
        """
        models = (self, *ensemble)
        lengths = _count_tokens(source)
        limits = ops.where(lengths > 1, lengths + config.extra_length, 1)
        if prefix is not None:
            limits = limits + _count_tokens(prefix)
        return search(
            average_steps([model.make_step() for model in models]),
            join_caches([model.start_search(source) for model in models]),
            length_limits=limits,
            end_id=end_id,
            config=config,
            prefix=prefix,
            source=source,
        )

    def token_log_probs(self, source: Tensor, target: Tensor) -> Tensor:
        """Scores given translations by teacher forcing.

        Args:
            source: int `[B, S]`, as for calling the model.
            target: int `[B, T]`, likewise.

        Returns:
            float32 `[B, T]`, log-probability in nats of each token of `target`; 0 for padding.
        """
        logits = self(source, target, training=False)
        chosen = ops.take_along_axis(logits, target[:, :, None], axis=2)[:, :, 0]
        log_probs = chosen - ops.logsumexp(logits, axis=-1)
        return ops.where(ops.equal(target, PADDING_ID), 0.0, log_probs)

    def _embed(self, embedding: SharedEmbedding, tokens: Tensor, positions: Tensor) -> Tensor:
        """Adds √D · embedding and positions in float32: bfloat16 cannot number far positions."""
        embedded = ops.cast(embedding(tokens), "float32") + self.positions(positions)
        return ops.cast(embedded, self.compute_dtype)


def shift_right(target: Tensor) -> Tensor:
    """Puts the start symbol in front of each sentence of `target`, int `[B, T]`, for its end."""
    shifted = ops.pad(target[:, :-1], ((0, 0), (1, 0)), constant_values=PADDING_ID)
    return ops.where(ops.equal(shifted, END_ID), PADDING_ID, shifted)


def _count_tokens(tokens: Tensor) -> Tensor:
    """Counts what is not padding in each row of int `[B, T]`: int32 `[B]`."""
    return ops.sum(ops.cast(ops.not_equal(tokens, PADDING_ID), "int32"), axis=1)
