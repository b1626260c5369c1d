"""A plain training loop in PyTorch around `nn.Transformer` or Hugging Face's MarianMT.

Run by the environment `torch`, outside this repository's packages:

    python plain_torch.py SETTINGS

SETTINGS is JSON of the class of that name.
"""

import dataclasses
import json
import random
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import torch
from torch import Tensor, nn

PADDING, END = 0, 1

Batch = tuple[Tensor, Tensor]  # source [B, S] and target [B, T], ids


@dataclasses.dataclass(frozen=True)
class Settings:
    """Model and files of subwords. `kind` is "nn" or "marian"."""

    kind: str
    source: str
    target: str
    vocabulary: str
    num_layers: int
    model_dim: int
    feed_forward_dim: int
    num_heads: int
    updates_per_report: int
    tokens_per_batch: int
    dropout: float
    label_smoothing: float


class PlainTransformer(nn.Module):
    """PyTorch's own Transformer with sinusoidal positions and one matrix of embeddings."""

    def __init__(self, settings: Settings, vocabulary_size: int) -> None:
        """Makes fresh weights."""
        super().__init__()
        dim, layers = settings.model_dim, settings.num_layers
        self.embedding = nn.Embedding(vocabulary_size, dim)
        nn.init.normal_(self.embedding.weight, std=dim**-0.5)
        self.transformer = nn.Transformer(
            dim,
            settings.num_heads,
            layers,
            layers,
            settings.feed_forward_dim,
            settings.dropout,
            batch_first=True,
        )
        self.dropout = nn.Dropout(settings.dropout)
        angles = torch.arange(512)[:, None] / 10_000 ** (torch.arange(0, dim, 2) / dim)
        table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
        self.register_buffer("positions", table)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Returns logits [B, T, V]."""
        padding = source == PADDING
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        states = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=causal,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return states @ self.embedding.weight.T

    def embed(self, ids: Tensor) -> Tensor:
        """Returns embeddings with positions."""
        embedded = self.embedding(ids) * self.embedding.embedding_dim**0.5
        return self.dropout(embedded + self.positions[: ids.shape[1]])


class Marian(nn.Module):
    """Hugging Face's MarianMT."""

    def __init__(self, settings: Settings, vocabulary_size: int) -> None:
        """Makes fresh weights."""
        super().__init__()
        from transformers import MarianConfig, MarianMTModel

        sides = ("encoder", "decoder")
        by_side = {f"{side}_layers": settings.num_layers for side in sides}
        by_side |= {f"{side}_attention_heads": settings.num_heads for side in sides}
        by_side |= {f"{side}_ffn_dim": settings.feed_forward_dim for side in sides}
        config = MarianConfig(
            vocab_size=vocabulary_size,
            d_model=settings.model_dim,
            dropout=settings.dropout,
            attention_dropout=0.0,
            activation_dropout=0.0,
            activation_function="relu",
            scale_embedding=True,
            max_position_embeddings=512,
            pad_token_id=PADDING,
            eos_token_id=END,
            decoder_start_token_id=PADDING,
            **by_side,
        )
        self.model = MarianMTModel(config)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Returns logits [B, T, V]."""
        outputs = self.model(
            input_ids=source, attention_mask=source != PADDING, decoder_input_ids=target
        )
        return outputs.logits


def read_batches(settings: Settings, vocabulary: list[str]) -> list[Batch]:
    """Sorts pairs by length and splits them into batches, limited by padded tokens."""
    numbers = {piece: number for number, piece in enumerate(vocabulary)}
    sides = [
        [[numbers[piece] for piece in line.split(" ")] for line in read_lines(path)]
        for path in (settings.source, settings.target)
    ]
    pairs = sorted(zip(*sides, strict=True), key=lambda pair: max(map(len, pair)))
    batches: list[Batch] = []
    rows: list[tuple[list[int], list[int]]] = []
    for ids, others in pairs:
        others = [*others, END]
        if (len(rows) + 1) * max(len(ids), len(others)) > settings.tokens_per_batch:
            batches.append(pad(rows))
            rows = []
        rows.append((ids, others))
    return [*batches, pad(rows)]


def read_lines(path: str) -> list[str]:
    r"""Returns the lines of a file, split on "\n" alone."""
    return Path(path).read_text().removesuffix("\n").split("\n")


def pad(rows: list[tuple[list[int], list[int]]]) -> Batch:
    """Returns rows as tensors, padded to the longest."""
    source, target = (
        nn.utils.rnn.pad_sequence([torch.tensor(ids) for ids in side], batch_first=True)
        for side in zip(*rows, strict=True)
    )
    return source, target


def endless(batches: list[Batch]) -> Iterator[Batch]:
    """Yields the batches in shuffled epochs without end."""
    while True:
        yield from random.sample(batches, len(batches))


def main(settings: Settings) -> None:
    """Trains without end and prints tokens per second."""
    vocabulary = ["<pad>", "</s>", "<unk>", *read_lines(settings.vocabulary)]
    make: type[nn.Module] = {"nn": PlainTransformer, "marian": Marian}[settings.kind]
    model = make(settings, len(vocabulary)).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    loss_of = nn.CrossEntropyLoss(ignore_index=PADDING, label_smoothing=settings.label_smoothing)
    batches = endless(read_batches(settings, vocabulary))
    tokens, began = 0, time.monotonic()
    for step, (ids, labels) in zip(count(1), batches, strict=False):
        inputs = nn.functional.pad(labels[:, :-1], (1, 0), value=PADDING)
        loss = loss_of(model(ids, inputs).flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tokens += int((ids != PADDING).sum() + (labels != PADDING).sum())
        if step % settings.updates_per_report == 0:
            speed = tokens / (time.monotonic() - began)
            print(f"step {step}: loss {loss.item():.3f}, {speed:.0f} tokens/s")
            tokens, began = 0, time.monotonic()


if __name__ == "__main__":
    main(Settings(**json.loads(sys.argv[1])))
