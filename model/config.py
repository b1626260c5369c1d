"""Hyper-parameters of the architecture and of search, each stated once (§3, §6.1, Table 3)."""

import dataclasses
from dataclasses import field
from typing import Literal, get_args, get_type_hints


@dataclasses.dataclass(frozen=True)
class TransformerConfig:
    """Architecture of a Transformer; the defaults are the paper's base model.

    `key_dim` and `value_dim` become `model_dim // num_heads` when they are 0.

    Raises:
        ValueError: if a value is out of range or sizes do not fit together.
    """

    num_layers: int = field(
        default=6,
        metadata={"help": "Layers N in the encoder and in the decoder, each (§3.1, Table 3 C)."},
    )
    model_dim: int = field(
        default=512,
        metadata={"help": "Size d_model of embeddings and of every layer's output (§3.1)."},
    )
    feed_forward_dim: int = field(
        default=2048,
        metadata={"help": "Inner size d_ff of the feed-forward layers (§3.3, Table 3 C)."},
    )
    num_heads: int = field(default=8, metadata={"help": "Attention heads h (§3.2.2, Table 3 A)."})
    key_dim: int = field(
        default=0,
        metadata={
            "help": "Size d_k of a head's queries and keys (§3.2.2, Table 3 A and B); "
            "0 for model_dim / num_heads."
        },
    )
    value_dim: int = field(
        default=0,
        metadata={
            "help": "Size d_v of a head's values (§3.2.2, Table 3 A); 0 for model_dim / num_heads."
        },
    )
    dropout: float = field(
        default=0.1,
        metadata={
            "help": "Rate of dropout P_drop on sublayer outputs and on the sums of embeddings and "
            "positions, 0 to 1 (§5.4, Table 3 D)."
        },
    )
    attention_dropout: float = field(
        default=0.0,
        metadata={
            "help": "Rate of dropout on attention's weights, 0 to 1 (none in the paper, 0.1 in "
            "Tensor2Tensor)."
        },
    )
    relu_dropout: float = field(
        default=0.0,
        metadata={
            "help": "Rate of dropout behind the feed-forward layers' ReLU, 0 to 1 (none in the "
            "paper, 0.1 in Tensor2Tensor)."
        },
    )
    norm: Literal["post", "pre"] = field(
        default="post",
        metadata={
            "help": "Layer normalisation after the residual sum as in the paper (post, §3.1) or "
            "before the sublayer (pre)."
        },
    )
    positions: Literal["sinusoidal", "sinusoidal_halves", "learned"] = field(
        default="sinusoidal",
        metadata={
            "help": "Positional encoding: fixed sinusoids, sines and cosines in turn (§3.5) or all "
            "sines before all cosines (Tensor2Tensor); or learned (Table 3 E)."
        },
    )
    max_positions: int = field(
        default=1024,
        metadata={"help": "Longest sentence in tokens that learned positions can number."},
    )
    padding_embedding: Literal["learned", "zeros"] = field(
        default="learned",
        metadata={
            "help": "Embedding of padding, which the decoder starts from: a learned vector, or "
            "zeros (Tensor2Tensor)."
        },
    )
    target_space: bool = field(
        default=False,
        metadata={
            "help": "Add one learned vector to all source embeddings: Tensor2Tensor's embedding of "
            "the target space."
        },
    )
    attention_init_variance: float = field(
        default=0.5,
        metadata={
            "help": "Variance of the first weights of queries, keys and values, as a share of "
            "Glorot's: 0.5 as in PyTorch, 1 as in Tensor2Tensor."
        },
    )

    def __post_init__(self) -> None:
        for name in ("num_layers", "model_dim", "feed_forward_dim", "num_heads", "max_positions"):
            _require(getattr(self, name) >= 1, f"{name} must be at least 1", getattr(self, name))
        _require(
            self.model_dim % 2 == 0,
            "model_dim must be even (sine and cosine pairs, §3.5)",
            self.model_dim,
        )
        for name in ("dropout", "attention_dropout", "relu_dropout"):
            rate = getattr(self, name)
            _require(0 <= rate < 1, f"{name} must be at least 0 and below 1", rate)
        _require(
            self.attention_init_variance > 0,
            "attention_init_variance must be above 0",
            self.attention_init_variance,
        )
        for name in ("norm", "positions", "padding_embedding"):
            _require_choice(self, name)
        for name in ("key_dim", "value_dim"):
            if getattr(self, name) == 0:
                _require(
                    self.model_dim % self.num_heads == 0,
                    f"model_dim {self.model_dim} is not a multiple of num_heads; give {name}",
                    self.num_heads,
                )
                object.__setattr__(self, name, self.model_dim // self.num_heads)
            _require(getattr(self, name) >= 1, f"{name} must be at least 1", getattr(self, name))


@dataclasses.dataclass(frozen=True)
class SearchConfig:
    """Search for translations; the defaults are the paper's (§6.1).

    Raises:
        ValueError: if a value is out of range.
    """

    beam_size: int = field(
        default=4,
        metadata={
            "help": "Hypotheses kept for each sentence (§6.1), 1 for greedy search; or samples "
            "drawn for each."
        },
    )
    n_best: int = field(
        default=1,
        metadata={
            "help": "Translations given for each sentence, at most beam_size; search goes on until "
            "no hypothesis can become one of them."
        },
    )
    length_penalty: float = field(
        default=0.6,
        metadata={
            "help": "Exponent α of the length penalty that log-probabilities are divided by "
            "(§6.1); 0 for none."
        },
    )
    length_penalty_form: Literal["gnmt", "power"] = field(
        default="gnmt",
        metadata={
            "help": "Length penalty of n tokens: ((5 + n) / 6)^α (gnmt, §6.1) or n^α (power, as "
            "fairseq, Marian and CTranslate2 have it)."
        },
    )
    coverage_penalty: float = field(
        default=0.0,
        metadata={
            "help": "Weight β of the coverage penalty, against leaving source words untranslated "
            "(Wu et al. 2016, §7; 0.2 there); 0 for none."
        },
    )
    min_length: int = field(
        default=1,
        metadata={
            "help": "Shortest translation, in tokens, the end symbol included; the longest, of its "
            "source and extra_length, goes before it."
        },
    )
    extra_length: int = field(
        default=50,
        metadata={"help": "Longest translation, in tokens more than its source (§6.1)."},
    )
    max_source_length: int = field(
        default=256,
        metadata={
            "help": "Longest source, in tokens, end symbol included; a longer one is cut there, "
            "which bounds the memory that a sentence needs."
        },
    )
    no_repeat_ngram: int = field(
        default=0,
        metadata={"help": "Tokens of an n-gram that may not come twice in a translation; 0: all."},
    )
    temperature: float = field(
        default=0.0,
        metadata={
            "help": "Temperature of sampling: 1 draws from the model's distribution, less prefers "
            "its likeliest tokens; 0 for beam search. Of beam_size samples the n_best best are "
            "kept: give beam_size 1 for a plain sample."
        },
    )
    top_k: int = field(
        default=0, metadata={"help": "Likeliest tokens that sampling draws from; 0 for all."}
    )
    top_p: float = field(
        default=1.0,
        metadata={
            "help": "Probability of the fewest likeliest tokens that sampling draws from, above 0 "
            "to 1 (nucleus sampling)."
        },
    )
    sampling_seed: int = field(
        default=1,
        metadata={
            "help": "Seed of sampling; the same sentence gives the same samples, in any batch."
        },
    )

    def __post_init__(self) -> None:
        for name in ("beam_size", "n_best", "min_length"):
            _require(getattr(self, name) >= 1, f"{name} must be at least 1", getattr(self, name))
        _require(
            self.max_source_length >= 2,
            "max_source_length must be at least 2, a token and the end symbol",
            self.max_source_length,
        )
        at_least_0 = ("length_penalty", "coverage_penalty", "extra_length", "no_repeat_ngram")
        for name in (*at_least_0, "temperature", "top_k"):
            _require(getattr(self, name) >= 0, f"{name} must be at least 0", getattr(self, name))
        _require(
            self.n_best <= self.beam_size,
            f"n_best must be at most beam_size ({self.beam_size})",
            self.n_best,
        )
        _require(0 < self.top_p <= 1, "top_p must be above 0 and at most 1", self.top_p)
        _require_choice(self, "length_penalty_form")
        _require(
            self.temperature > 0 or (self.top_k == 0 and self.top_p == 1),
            "top_k and top_p are for sampling, with a temperature above 0",
            self.temperature,
        )


def _require_choice(config: object, name: str) -> None:
    """Refuses a value that the field's `Literal` type does not list."""
    choices = get_args(get_type_hints(type(config))[name])
    value = getattr(config, name)
    _require(value in choices, f"{name} must be {' or '.join(map(repr, choices))}", value)


def _require(condition: bool, expected: str, received: object) -> None:
    if not condition:
        raise ValueError(f"{expected}; received {received!r}")
