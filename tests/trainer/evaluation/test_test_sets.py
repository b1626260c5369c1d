import numpy as np
import pytest
import sacrebleu
import tensorflow as tf

from model.transformer import Transformer
from pipeline.dataset.schema import PADDING_ID, Dataset, parse_example, read_records
from tests.helpers.datasets import VOCABULARY_SIZE
from trainer.data.raw_text import read_text
from trainer.evaluation import test_sets
from trainer.evaluation.test_sets import evaluate_bleu, evaluate_loss, score_bleu
from trainer.inference.translator import Translator


@pytest.fixture(scope="module")
def transformer(translator: Translator) -> Transformer:
    return translator.transformer


def test_the_score_is_that_of_sacrebleu() -> None:
    translations = ["The dog sleeps .", "a cat, and a hat"]
    references = ["The dog sleeps.", "a cat and the hat"]
    received = score_bleu(translations, references)
    assert received.sacrebleu == sacrebleu.corpus_bleu(translations, [references]).score
    assert received.chrf == sacrebleu.corpus_chrf(translations, [references]).score
    assert received.sentences == 2
    assert received.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


def test_bleu_of_a_sentence_worked_out_by_hand() -> None:
    # n-gram precisions 5/6, 4/5, 3/4, 2/3 of equal lengths: (5/6 · 4/5 · 3/4 · 2/3)^(1/4).
    received = score_bleu(["a b c d e x"], ["a b c d e f"])
    assert received.sacrebleu == pytest.approx(100 * (1 / 3) ** 0.25)


def test_bleu_is_cased() -> None:
    assert score_bleu(["a b c d e"], ["a b c d e"]).sacrebleu == pytest.approx(100)
    assert score_bleu(["A b c d e"], ["a b c d e"]).sacrebleu < 80


def nll_of(transformer: Transformer, source: list[int], target: list[int]) -> float:
    """The pair's summed negative log-likelihood, alone and without padding, in float64."""
    logits = transformer(tf.constant([source]), tf.constant([target]), training=False)
    scores = logits.numpy()[0].astype(np.float64)
    log_probabilities = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
    return -sum(log_probabilities[place, id] for place, id in enumerate(target))


def test_nll_is_the_mean_over_the_target_tokens_of_the_split(
    tiny_dataset: Dataset, transformer: Transformer
) -> None:
    pairs = [
        parse_example(record)
        for shard in tiny_dataset.splits["test"].shards
        for record in read_records(tiny_dataset.path(shard.path))
    ]
    assert len(pairs) == tiny_dataset.splits["test"].pairs
    total = sum(nll_of(transformer, source, target) for source, target in pairs)
    expected = total / sum(len(target) for _, target in pairs)
    values = evaluate_loss([transformer], tiny_dataset, "test", tokens_per_batch=100)
    assert values["nll"] == pytest.approx(expected, rel=1e-5)
    assert values["perplexity"] == pytest.approx(np.exp(expected), rel=1e-5)


def test_token_accuracy_is_the_share_of_the_most_probable_tokens(
    tiny_dataset: Dataset, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On what the model would write itself, with one token changed in each sentence."""
    source = translator.source_ops.tokenize(tf.constant(["The old dog sleeps.", "Why?"]))
    target = translator.search_ids(source).tokens[:, 0].numpy()
    target[:, 1] = 99
    batch = {"source": source, "target": tf.constant(target)}
    monkeypatch.setattr(test_sets, "evaluation_batches", lambda buckets: [batch])
    chosen = np.argmax(translator.transformer(batch), axis=-1)
    real = target != PADDING_ID
    right, tokens = ((chosen == target) & real).sum(), real.sum()
    assert 0 < right < tokens < target.size
    values = evaluate_loss([translator.transformer], tiny_dataset, "test")
    assert values["token_accuracy"] == pytest.approx(right / tokens, rel=1e-6)
    ensemble = [translator.transformer, Transformer(translator.transformer.config, VOCABULARY_SIZE)]
    assert "token_accuracy" not in evaluate_loss(ensemble, tiny_dataset, "test")


def test_loss_does_not_depend_on_the_batch_size(
    tiny_dataset: Dataset, transformer: Transformer
) -> None:
    few, many = (
        evaluate_loss([transformer], tiny_dataset, "test", tokens_per_batch=tokens)["nll"]
        for tokens in (48, 480)
    )
    assert few == pytest.approx(many, rel=1e-6)


def test_text_is_read_line_by_line(tiny_dataset: Dataset) -> None:
    source, target = read_text(tiny_dataset, "dev")
    assert len(source) == len(target) == tiny_dataset.splits["dev"].pairs
    assert read_text(tiny_dataset, "dev", sentences=3) == (source[:3], target[:3])


def test_bleu_is_of_what_the_translator_says(tiny_dataset: Dataset, translator: Translator) -> None:
    scores, rows = evaluate_bleu(translator, tiny_dataset, "dev", sentences=5)
    source, references = read_text(tiny_dataset, "dev", sentences=5)
    assert [row.source for row in rows] == source
    assert [row.reference for row in rows] == references
    assert scores == score_bleu([row.translation for row in rows], references)
    single = translator.translate(tf.constant(source[2:3]))
    assert rows[2].translation == single["translation"].numpy()[0].decode()
    assert rows[2].score == pytest.approx(float(single["score"][0]), rel=1e-4)
