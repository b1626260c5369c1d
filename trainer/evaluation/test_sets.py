"""Dev and test: loss and perplexity by teacher forcing, BLEU by real beam search (§6.1)."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import sacrebleu
import tensorflow as tf

from model.search.ensemble import average_log_probs
from model.transformer import Transformer
from pipeline.dataset.schema import Dataset
from trainer.data.input_pipeline import Batch, evaluation_batches, make_buckets
from trainer.data.raw_text import read_text
from trainer.inference.batching import translate_all
from trainer.inference.translator import Translator


@dataclasses.dataclass(frozen=True)
class Scores:
    """Corpus scores of translations.

    sacrebleu: BLEU, 0 to 100. signature: of sacreBLEU, to be given wherever the score is.
    """

    sacrebleu: float
    signature: str
    sentences: int


def evaluate_loss(
    models: Sequence[Transformer], dataset: Dataset, split: str, *, tokens_per_batch: int = 4_096
) -> dict[str, float]:
    """Computes the plain cross-entropy of a split and its perplexity, per subword.

    Several models are one, of the average of their probabilities.

    Args:
        models: of the dataset's subwords.
        dataset: what is scored.
        split: train, dev or test.
        tokens_per_batch: padded target tokens whose logits, of the whole vocabulary, are in memory
            at once: those of one sentence at least.

    Returns:
        `nll`, nats per target token, end symbols included and not smoothed; `perplexity`, its
        exponential (Table 3 reports the same, per word-piece).
    """
    longest = max((max(shard.shape) for shard in dataset.splits[split].shards), default=0)
    tokens = max(tokens_per_batch, longest)
    buckets = make_buckets(dataset, split, tokens_per_batch=tokens, parts=1)
    totals = [_sum_nll(tuple(models), batch) for batch in evaluation_batches(buckets)]
    nll = sum(float(nll) for nll, _ in totals) / sum(float(tokens) for _, tokens in totals)
    return {"nll": nll, "perplexity": math.exp(min(nll, 700.0))}


@tf.function(reduce_retracing=True, autograph=False)
def _sum_nll(models: tuple[Transformer, ...], batch: Batch) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the nats and the number of the real target tokens; traced once for each model."""
    source, target = batch["source"], batch["target"]
    log_probs = average_log_probs([model.token_log_probs(source, target) for model in models])
    return -tf.reduce_sum(log_probs), tf.math.count_nonzero(batch["target"], dtype=tf.float32)


def score(translations: Sequence[str], references: Sequence[str]) -> Scores:
    """Scores raw, detokenised translations with sacreBLEU's defaults (13a, cased)."""
    bleu = sacrebleu.metrics.BLEU()
    result = bleu.corpus_score(list(translations), [list(references)])
    return Scores(result.score, str(bleu.get_signature()), len(translations))


def evaluate_bleu(
    translator: Translator, dataset: Dataset, split: str, *, sentences: int = 0
) -> tuple[Scores, list[dict[str, Any]]]:
    """Translates a split by beam search and scores it; returns the scores and `translate_set`'s."""
    source, references = read_text(dataset, split, sentences=sentences)
    rows = translate_set(translator, source, references)
    return score([row["translation"] for row in rows], references), rows


def translate_set(
    translator: Translator, source: Sequence[str], references: Sequence[str]
) -> list[dict[str, Any]]:
    """Translates a test set.

    Returns:
        per sentence `source`, `reference`, `translation` and `score` (that of the search,
        `Translator.translate`).
    """
    translations = translate_all(translator.translate, source)
    return [
        {"source": s, "reference": r, "translation": t.text, "score": t.score}
        for s, r, t in zip(source, references, translations, strict=True)
    ]


def sample_translations(
    translator: Translator, dataset: Dataset, split: str, *, sentences: int
) -> list[dict[str, str]]:
    """Translates sentences spread evenly over a split.

    Returns:
        at most `sentences` rows of `source`, `reference` and `translation`.
    """
    pairs = list(zip(*read_text(dataset, split), strict=True))
    chosen = pairs[:: max(1, len(pairs) // sentences)][:sentences]
    translations = translate_all(translator.translate, [source for source, _ in chosen])
    return [
        {"source": source, "reference": reference, "translation": translation.text}
        for (source, reference), translation in zip(chosen, translations, strict=True)
    ]
