"""Evaluation on test sets: loss and perplexity by teacher forcing, BLEU by beam search (§6.1)."""

import dataclasses
import math
from collections.abc import Sequence

import sacrebleu
import tensorflow as tf

from model.search.ensemble import average_log_probs
from model.transformer import Transformer
from pipeline.dataset.schema import Dataset
from trainer.data.buckets import make_buckets
from trainer.data.input_pipeline import Batch, evaluation_batches
from trainer.data.raw_text import read_text, tag_sentences
from trainer.evaluation.parsing import score_parses
from trainer.evaluation.result import TranslatedSentence
from trainer.inference.batching import translate_all
from trainer.inference.replicas import replica_scopes
from trainer.inference.translator import Translator


@dataclasses.dataclass(frozen=True)
class BleuScore:
    """BLEU and chrF of a corpus.

    sacrebleu: 0 to 100.
    chrf: sacreBLEU's chrF with its defaults, 0 to 100.
    signature: sacreBLEU's description of the metric, to be published with the score.
    sentences: their number.
    """

    sacrebleu: float
    chrf: float
    signature: str
    sentences: int


def evaluate_loss(
    models: Sequence[Transformer], dataset: Dataset, split: str, *, tokens_per_batch: int = 4_096
) -> dict[str, float]:
    """Computes the cross-entropy of a split, without label smoothing, and its perplexity.

    Several models are an ensemble: their probabilities are averaged.

    Args:
        models: with the subwords of the dataset.
        dataset: what is scored.
        split: train, dev or test.
        tokens_per_batch: padded tokens of each side, in the mean of both, that are in memory at
            once; a longer sentence is a batch of its own.

    Returns:
        `nll`, nats per target token, end symbols included; `perplexity`, its exponential (per
        subword, as in Table 3); of a single model `token_accuracy`, the share of these tokens that
        it holds most probable (§5.4).
    """
    longest = max((max(shard.shape) for shard in dataset.splits[split].shards), default=0)
    tokens = max(tokens_per_batch, longest)
    buckets = make_buckets(dataset, split, tokens_per_batch=tokens, parts=1)
    totals = [
        [float(total) for total in _sum_tokens(tuple(models), batch)]
        for batch in evaluation_batches(buckets)
    ]
    nats, right, real = (math.fsum(column) for column in zip(*totals, strict=True))
    losses = {"nll": nats / real, "perplexity": math.exp(min(nats / real, 700.0))}
    return losses if len(models) > 1 else {**losses, "token_accuracy": right / real}


@tf.function(reduce_retracing=True, autograph=False)
def _sum_tokens(models: tuple[Transformer, ...], batch: Batch) -> tuple[tf.Tensor, ...]:
    """Returns the sum of nats, the tokens that the first model holds most probable, and all."""
    source, target = batch["source"], batch["target"]
    log_probs, is_top = models[0].token_scores(source, target)
    others = [model.token_log_probs(source, target) for model in models[1:]]
    counts = (tf.math.count_nonzero(mask, dtype=tf.float32) for mask in (is_top, target))
    return (-tf.reduce_sum(average_log_probs([log_probs, *others])), *counts)


def score_bleu(translations: Sequence[str], references: Sequence[str]) -> BleuScore:
    """Computes BLEU of detokenised translations with sacreBLEU's defaults (13a, cased)."""
    bleu = sacrebleu.metrics.BLEU()
    result = bleu.corpus_score(list(translations), [list(references)])
    chrf = sacrebleu.metrics.CHRF().corpus_score(list(translations), [list(references)])
    return BleuScore(result.score, chrf.score, str(bleu.get_signature()), len(translations))


def evaluate_bleu(
    translator: Translator, dataset: Dataset, split: str, *, sentences: int = 0
) -> tuple[BleuScore, list[TranslatedSentence]]:
    """Translates a split and scores it; returns the score and the translations.

    Args:
        translator: translates by beam search.
        dataset: holds the split as text.
        split: dev or test.
        sentences: how many from the beginning; 0 for all.
    """
    source, references = read_text(dataset, split, sentences=sentences)
    rows = translate_set(translator, source, references, source_tag=dataset.source_tag)
    return score_bleu([row.translation for row in rows], references), rows


def evaluate_f1(
    translator: Translator, dataset: Dataset, split: str, *, sentences: int = 0
) -> float:
    """Parses a split of a treebank and returns F1.

    Args:
        translator: a parser.
        dataset: holds the split as text.
        split: dev or test.
        sentences: how many from the beginning; 0 for all.
    """
    source, references = read_text(dataset, split, sentences=sentences)
    parses = translate_set(translator, source, references, source_tag=dataset.source_tag)
    return score_parses(parses, None, resamples=0).metrics["f1"].score


def translate_set(
    translator: Translator,
    source: Sequence[str],
    references: Sequence[str],
    *,
    source_tag: str = "",
) -> list[TranslatedSentence]:
    """Translates a test set, on all replicas of a model in training.

    Args:
        translator: the model.
        source: sentences without tags.
        references: their translations.
        source_tag: tag of the dataset whose kind of translation is wanted; "" for none.
    """
    translations = translate_all(
        translator.translate,
        tag_sentences(source_tag, source),
        scopes=replica_scopes(translator.transformer),
    )
    return [
        TranslatedSentence(
            sentence, reference, translation.text, translation.score, translation.is_repaired
        )
        for sentence, reference, translation in zip(source, references, translations, strict=True)
    ]


def sample_translations(
    translator: Translator, dataset: Dataset, split: str, *, sentences: int
) -> list[TranslatedSentence]:
    """Translates at most `sentences` sentences that are spread evenly over a split."""
    source, references = read_text(dataset, split)
    every = max(1, len(source) // sentences)
    chosen = slice(None, every * sentences, every)
    return translate_set(
        translator, source[chosen], references[chosen], source_tag=dataset.source_tag
    )
