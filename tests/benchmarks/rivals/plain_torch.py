"""A plain training loop in PyTorch around `nn.Transformer` or Hugging Face's MarianMT.

Run by the environment `torch`, outside this repository's packages:

    python plain_torch.py {nn,marian} SOURCE TARGET VOCABULARY SIZE…

SIZE is layers, d_model, d_ff, heads, updates between reports.
"""

import random
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import torch
from torch import Tensor, nn

PADDING, END = 0, 1
TOKENS_PER_BATCH = 4096
DROPOUT = LABEL_SMOOTHING = 0.1

Batch = tuple[Tensor, Tensor]  # source [B, S] and target [B, T], ids


class PlainTransformer(nn.Module):
    """PyTorch's own Transformer with sinusoidal positions and one matrix of embeddings."""

    def __init__(
        self, vocabulary: int, layers: int, model_dim: int, inner_dim: int, heads: int
    ) -> None:
        """Makes fresh weights."""
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, model_dim)
        nn.init.normal_(self.embedding.weight, std=model_dim**-0.5)
        self.transformer = nn.Transformer(
            model_dim, heads, layers, layers, inner_dim, DROPOUT, batch_first=True
        )
        self.dropout = nn.Dropout(DROPOUT)
        angles = torch.arange(512)[:, None] / 10_000 ** (torch.arange(0, model_dim, 2) / model_dim)
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

    def __init__(
        self, vocabulary: int, layers: int, model_dim: int, inner_dim: int, heads: int
    ) -> None:
        """Makes fresh weights."""
        super().__init__()
        from transformers import MarianConfig, MarianMTModel

        sides = ("encoder", "decoder")
        by_side = {f"{side}_layers": layers for side in sides}
        by_side |= {f"{side}_attention_heads": heads for side in sides}
        by_side |= {f"{side}_ffn_dim": inner_dim for side in sides}
        config = MarianConfig(
            vocab_size=vocabulary,
            d_model=model_dim,
            dropout=DROPOUT,
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


def read_batches(source: str, target: str, vocabulary: list[str]) -> list[Batch]:
    """Sorts pairs by length and cuts them into batches of at most so many padded tokens."""
    numbers = {piece: number for number, piece in enumerate(vocabulary)}
    sides = [
        [[numbers[piece] for piece in line.split(" ")] for line in read_lines(path)]
        for path in (source, target)
    ]
    pairs = sorted(zip(*sides, strict=True), key=lambda pair: max(map(len, pair)))
    batches: list[Batch] = []
    rows: list[tuple[list[int], list[int]]] = []
    for ids, others in pairs:
        others = [*others, END]
        if (len(rows) + 1) * max(len(ids), len(others)) > TOKENS_PER_BATCH:
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
    """Yields the batches again and again, shuffled."""
    while True:
        yield from random.sample(batches, len(batches))


def main(kind: str, source: str, target: str, vocabulary: str, *size: str) -> None:
    """Trains without end, and prints tokens a second."""
    *shape, every = map(int, size)
    pieces = ["<pad>", "</s>", "<unk>", *read_lines(vocabulary)]
    model: nn.Module = (PlainTransformer if kind == "nn" else Marian)(len(pieces), *shape)
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    loss_of = nn.CrossEntropyLoss(ignore_index=PADDING, label_smoothing=LABEL_SMOOTHING)
    tokens, began = 0, time.monotonic()
    for step, (ids, labels) in zip(count(1), endless(read_batches(source, target, pieces))):
        inputs = nn.functional.pad(labels[:, :-1], (1, 0), value=PADDING)
        logits = model(ids, inputs)
        loss = loss_of(logits.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tokens += int((ids != PADDING).sum() + (labels != PADDING).sum())
        if step % every == 0:
            speed = tokens / (time.monotonic() - began)
            print(f"step {step}: loss {loss.item():.3f}, {speed:.0f} tokens/s")
            tokens, began = 0, time.monotonic()


if __name__ == "__main__":
    main(*sys.argv[1:])
