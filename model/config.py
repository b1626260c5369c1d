"""Hyper-parameters of the architecture and of search, each stated once (§3, §6.1, Table 3)."""

import dataclasses
from typing import Literal, NamedTuple

from model.settings import as_flags, require, require_choice, require_range, setting

# Time and memory grow with the width: each hypothesis has keys and values of every position.
_MAX_BEAM_SIZE = 256


class Depths(NamedTuple):
    """Layers of the encoder and of the decoder."""

    encoder: int
    decoder: int


@dataclasses.dataclass(frozen=True)
class TransformerConfig:
    """Architecture of a Transformer; the defaults are the paper's base model.

    `key_dim` and `value_dim` become `model_dim // num_heads` when they are 0.

    Raises:
        ValueError: if a value is out of range or sizes do not fit together.
    """

    num_layers: int = setting(
        6, "Layers N of the encoder, and as many of the decoder (§3.1, Table 3 C)."
    )
    encoder_layers: int = setting(0, "Layers of the encoder; 0 for num_layers.")
    decoder_layers: int = setting(
        0,
        "Layers of the decoder; 0 for num_layers. Search runs the decoder once for each token, the "
        "encoder once for each sentence.",
    )
    model_dim: int = setting(512, "Size d_model of embeddings and of every layer's output (§3.1).")
    feed_forward_dim: int = setting(
        2048, "Inner size d_ff of the feed-forward layers (§3.3, Table 3 C)."
    )
    num_heads: int = setting(8, "Attention heads h (§3.2.2, Table 3 A).")
    key_dim: int = setting(
        0,
        "Size d_k of a head's queries and keys (§3.2.2, Table 3 A and B); 0 for model_dim / "
        "num_heads.",
    )
    value_dim: int = setting(
        0, "Size d_v of a head's values (§3.2.2, Table 3 A); 0 for model_dim / num_heads."
    )
    dropout: float = setting(
        0.1,
        "Dropout rate P_drop of sublayer outputs and of the sums of embeddings and positions, at "
        "least 0 and below 1 (§5.4, Table 3 D).",
    )
    attention_dropout: float = setting(
        0.0,
        "Dropout rate of attention weights, at least 0 and below 1 (none in the paper, 0.1 in "
        "Tensor2Tensor).",
    )
    relu_dropout: float = setting(
        0.0,
        "Dropout rate after the feed-forward layers' ReLU, at least 0 and below 1 (none in the "
        "paper, 0.1 in Tensor2Tensor).",
    )
    norm: Literal["post", "pre"] = setting(
        "post",
        "Layer normalisation after the residual sum (post, as in the paper, §3.1) or before the "
        "sublayer (pre).",
    )
    positions: Literal["sinusoidal", "sinusoidal_halves", "learned"] = setting(
        "sinusoidal",
        "Positional encoding: fixed sinusoids with sines and cosines interleaved (§3.5) or all "
        "sines before all cosines (Tensor2Tensor); or learned (Table 3 E).",
    )
    max_positions: int = setting(1024, "Longest sentence, in tokens, with learned positions.")
    padding_embedding: Literal["learned", "zeros"] = setting(
        "learned",
        "Embedding of padding, the decoder's first input: a learned vector, or zeros "
        "(Tensor2Tensor).",
    )
    target_space: bool = setting(
        False,
        "Add one learned vector to all source embeddings, as Tensor2Tensor's target-space "
        "embedding does.",
    )
    attention_window: int = setting(
        0,
        "Size r of the neighbourhood, centred on its own position, that each position of the "
        "encoder attends to, an odd number of tokens (§4, restricted self-attention); 0 for the "
        "whole sentence. The mask saves neither time nor memory.",
    )
    attention_init_variance: float = setting(
        0.5,
        "Initial variance of the projections of queries, keys and values, as a share of Glorot's: "
        "0.5 as in PyTorch, 1 as in Tensor2Tensor.",
    )

    def __post_init__(self) -> None:
        sizes = ("num_layers", "model_dim", "feed_forward_dim", "num_heads", "max_positions")
        require_range(self, *sizes, at_least=1)
        require_range(self, "encoder_layers", "decoder_layers", "attention_window", at_least=0)
        require(
            self.attention_window == 0 or self.attention_window % 2 == 1,
            "an odd number, as many tokens to the left as to the right; or 0 for all",
            as_flags(self, "attention_window"),
        )
        require(
            self.model_dim % 2 == 0,
            "an even number, for pairs of sine and cosine (§3.5)",
            as_flags(self, "model_dim"),
        )
        require_range(self, "dropout", "attention_dropout", "relu_dropout", at_least=0, below=1)
        require_range(self, "attention_init_variance", above=0)
        require_choice(self, "norm", "positions", "padding_embedding")
        for name in ("key_dim", "value_dim"):
            if getattr(self, name) == 0:
                require(
                    self.model_dim % self.num_heads == 0,
                    f"a divisor of model_dim; else give --{name}",
                    as_flags(self, "num_heads", "model_dim"),
                )
                object.__setattr__(self, name, self.model_dim // self.num_heads)
        require_range(self, "key_dim", "value_dim", at_least=1)

    @property
    def depths(self) -> Depths:
        """The layers of either stack: `encoder_layers` and `decoder_layers`, else `num_layers`."""
        return Depths(
            self.encoder_layers or self.num_layers, self.decoder_layers or self.num_layers
        )


@dataclasses.dataclass(frozen=True)
class SearchConfig:
    """Search for translations; the defaults are the paper's (§6.1).

    Raises:
        ValueError: if a value is out of range.
    """

    beam_size: int = setting(
        4,
        "Hypotheses kept for each sentence (§6.1), 1 for greedy search, at most 256; with a "
        "temperature, samples drawn for each sentence.",
    )
    n_best: int = setting(
        1,
        "Translations returned for each sentence, at most beam_size; search continues until no "
        "unfinished hypothesis can enter the n best.",
    )
    length_penalty: float = setting(
        0.6,
        "Exponent α of the length penalty, which divides log-probabilities (§6.1); 0 for none.",
    )
    length_penalty_form: Literal["gnmt", "power"] = setting(
        "gnmt",
        "Length penalty of n tokens: ((5 + n) / 6)^α (gnmt, §6.1) or n^α (power, as in fairseq, "
        "Marian and CTranslate2).",
    )
    coverage_penalty: float = setting(
        0.0,
        "Weight β of the coverage penalty, against leaving source words untranslated (Wu et al. "
        "2016, §7; 0.2 there); 0 for none.",
    )
    min_length: int = setting(
        1,
        "Shortest translation, in tokens, end symbol included; the limit of extra_length takes "
        "precedence.",
    )
    extra_length: int = setting(
        50, "Longest translation, in tokens beyond the length of its source (§6.1)."
    )
    max_source_length: int = setting(
        256,
        "Longest source, in tokens, end symbol included; longer ones are truncated, which bounds "
        "the memory of a sentence.",
    )
    no_repeat_ngram: int = setting(
        0,
        "Size of the n-grams that may not repeat within a translation, in tokens; 0 for no limit.",
    )
    temperature: float = setting(
        0.0,
        "Temperature of sampling: 1 draws from the model's distribution, less favours its most "
        "probable tokens; 0 for beam search. The n_best most probable of beam_size samples are "
        "kept; beam_size 1 gives a plain sample.",
    )
    top_k: int = setting(0, "Most probable tokens that sampling draws from; 0 for all.")
    top_p: float = setting(
        1.0,
        "Total probability of the most probable tokens that sampling draws from, above 0 and at "
        "most 1 (nucleus sampling).",
    )
    sampling_seed: int = setting(
        1, "Seed of sampling; a sentence gets the same samples in any batch."
    )

    def __post_init__(self) -> None:
        require_range(self, "beam_size", at_least=1, at_most=_MAX_BEAM_SIZE)
        require_range(self, "n_best", "min_length", at_least=1)
        require_range(self, "max_source_length", at_least=2)  # a token and the end symbol
        require_range(self, "length_penalty", "coverage_penalty", "extra_length", at_least=0)
        require_range(self, "no_repeat_ngram", "temperature", "top_k", at_least=0)
        require_range(self, "top_p", above=0, at_most=1)
        require_choice(self, "length_penalty_form")
        require(
            self.min_length <= self.max_source_length + self.extra_length,
            "min_length of at most their sum, the longest translation",
            as_flags(self, "min_length", "max_source_length", "extra_length"),
        )
        require(
            self.n_best <= self.beam_size,
            "n_best of at most beam_size",
            as_flags(self, "n_best", "beam_size"),
        )
        require(
            self.temperature > 0 or (self.top_k == 0 and self.top_p == 1),
            "a temperature above 0, for sampling; or neither top_k nor top_p",
            as_flags(self, "top_k", "top_p", "temperature"),
        )


@dataclasses.dataclass(frozen=True)
class AlignmentConfig:
    """Alignment of words by the decoder's attention to the source.

    Raises:
        ValueError: if a value is out of range.
    """

    alignment_layer: int = setting(
        0,
        "Decoder layer, from 1, whose attention aligns words, as the mean of its heads; 0 for the "
        "last but one, or of at most two the last.",
    )

    def __post_init__(self) -> None:
        require_range(self, "alignment_layer", at_least=0)
