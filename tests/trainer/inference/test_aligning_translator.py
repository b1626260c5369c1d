"""Every translation is aligned by its own tokens, alone as in a batch."""

import numpy as np
import pytest
import tensorflow as tf

from model.attention_maps import attention_maps
from model.transformer import Transformer
from pipeline.dataset.schema import PADDING_ID
from tests.helpers.datasets import VOCABULARY_SIZE
from trainer.inference.aligning_translator import AligningTranslator
from trainer.inference.batching import translate_all, with_source_tag
from trainer.inference.translations import Hypothesis, Links, Translation
from trainer.inference.translator import Translator

SENTENCES = [
    "The old dog sleeps in the garden.",
    "",
    "  Why?  ",
    "An \u00fcber cat \U0001f600 sings.",
]


@pytest.fixture(scope="module")
def aligning(translator: Translator) -> AligningTranslator:
    return AligningTranslator(translator)


def words(translator: Translator, ids: np.ndarray) -> list[list[int]]:
    """The places of the tokens of each word."""
    prefixes = [ids[: place + 1] for place in range(len(ids) - 1)]  # without the end symbol
    spelled = [translator.target_ops.detokenize(prefix[None]).numpy()[0] for prefix in prefixes]
    # A space alone is part of the word after it.
    numbers = [len(text.split()) - (text.strip() != b"" and text[-1:] != b" ") for text in spelled]
    return [
        [place for place, number in enumerate(numbers) if number == word]
        for word in range(len(spelled[-1].split()) if spelled else 0)
    ]


def expected(translator: Translator, source: np.ndarray, target: np.ndarray) -> Hypothesis:
    """Links and confidence of one pair of ids without padding, computed token by token."""
    pair = source[None], target[None]
    attention = attention_maps(translator.transformer, *pair).memory[0, 0].numpy().mean(axis=0)
    probabilities = np.exp(translator.transformer.token_log_probs(*pair).numpy()[0])
    links, confidence = [], []
    sources = words(translator, source)
    for number, tokens in enumerate(words(translator, target)):
        confidence.append(float(np.prod(probabilities[tokens])))
        if sources:
            weights = [attention[np.ix_(tokens, places)].sum() for places in sources]
            links.append((int(np.argmax(weights)), number))
    return Hypothesis("", 0.0, tuple(links), tuple(confidence))


def check(received: Hypothesis | Translation, wanted: Hypothesis) -> None:
    assert received.alignment == wanted.alignment
    assert received.word_confidence == pytest.approx(wanted.word_confidence, rel=1e-3)
    assert received.word_confidence is not None
    assert len(received.word_confidence) == len(received.text.encode().split())


def trim(ids: np.ndarray) -> np.ndarray:
    return ids[ids != PADDING_ID]


def test_each_of_the_n_best_is_aligned_by_its_own_tokens(aligning: AligningTranslator) -> None:
    translator = aligning.translator
    source = translator.source_ops.tokenize(tf.constant(SENTENCES))
    tokens = translator.search_n_best(source).tokens.numpy()
    translations = translate_all(aligning.translate_nbest, SENTENCES)
    links: set[Links | None] = set()
    for row, translation in enumerate(translations):
        for rank, hypothesis in enumerate(translation.n_best):
            ids = trim(source.numpy()[row]), trim(tokens[row, rank])
            check(hypothesis, expected(translator, *ids))
            links.add(hypothesis.alignment)
        assert translation.alignment == translation.n_best[0].alignment
    assert len(links) > 2, "hypotheses differ in their links"
    assert translations[1].alignment == () == translations[1].word_confidence


def test_a_sentence_is_aligned_alone_as_in_a_batch(aligning: AligningTranslator) -> None:
    together = translate_all(aligning.translate, SENTENCES)
    plain = translate_all(aligning.translator.translate, SENTENCES)
    for sentence, received, unaligned in zip(SENTENCES, together, plain, strict=True):
        (alone,) = translate_all(aligning.translate, [sentence])
        assert received.text == alone.text == unaligned.text
        assert received.score == pytest.approx(unaligned.score, rel=1e-4)
        assert received.alignment == alone.alignment
        assert received.word_confidence == pytest.approx(alone.word_confidence, rel=1e-3)
        assert unaligned.alignment is None is unaligned.word_confidence


def test_given_pairs_are_aligned_without_search(aligning: AligningTranslator) -> None:
    targets = ["Der alte Hund.", "Nichts", "", "Eine Katze singt."]
    outputs = aligning.align_pairs(tf.constant(SENTENCES), tf.constant(targets))
    translator = aligning.translator
    for row, (sentence, target) in enumerate(zip(SENTENCES, targets, strict=True)):
        source, ids = (translator.source_ops.tokenize([text]) for text in (sentence, target))
        wanted = expected(translator, source.numpy()[0], ids.numpy()[0])
        links = " ".join(f"{source}-{word}" for source, word in wanted.alignment or ())
        assert outputs["alignment"].numpy()[row].decode() == links
    with pytest.raises(tf.errors.InvalidArgumentError, match="as many strings"):
        aligning.align_pairs(tf.constant(["a"]), tf.constant(["a", "b"]))


def test_an_ensemble_attends_as_the_mean_of_its_models(aligning: AligningTranslator) -> None:
    translator = aligning.translator
    other = Transformer(translator.transformer.config, VOCABULARY_SIZE)
    ops = translator.source_ops
    ensemble = Translator(translator.transformer, ops, ops, translator.search, [other])
    source, target = tf.constant([[5, 6, 7, 1]]), tf.constant([[8, 9, 1]])
    each = [attention_maps(model, source, target).memory[0].numpy() for model in ensemble.models]
    received = ensemble.align_ids(source, target).attention.numpy()
    np.testing.assert_allclose(received, np.mean(each, axis=(0, 2)), atol=1e-6)


def test_the_words_after_a_tag_are_counted(aligning: AligningTranslator) -> None:
    tagged = with_source_tag(aligning.translate, "<x>")
    (received,) = translate_all(tagged, ["The dog sleeps."])
    (with_tag,) = translate_all(aligning.translate, ["<x> The dog sleeps."])
    assert with_tag.alignment
    shifted = tuple((source - 1, word) for source, word in with_tag.alignment if source > 0)
    assert received.alignment == shifted
