import hashlib
import os
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from pipeline.corpora.builtin import corpus, generate_pairs
from pipeline.corpora.builtin.seeded_random import SeededRandom
from pipeline.corpora.builtin.words import Bilingual
from tests.pipeline.corpora.builtin.lexicon import english_forms

SPLITS = ("train", "dev", "test")
# Taken when the grammar was last changed; a change that is not meant shows here first.
SHA256 = {
    "train": "acdf33bf9f6713f1fbcd3e292db5c721db981b452d16289dd2349dc7728bff9a",
    "dev": "427fb087fd738f5d4b39a51e4a6f33c500851883b77f5fa10c01c131b7545d23",
    "test": "b878d303085005d4152d08e27dca4230d6e45acbb6620d43f6c28372436f069a",
}


def digest(split):
    text = "".join(f"{source}\t{target}\n" for source, target in generate_pairs(split))
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("split", SPLITS)
def test_golden_digest(split):
    assert digest(split) == SHA256[split]


def test_independent_of_the_hash_seed():
    program = (
        "from tests.pipeline.corpora.builtin.test_corpus import digest, SHA256;"
        "assert digest('dev') == SHA256['dev']"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    root = Path(__file__).parents[4]
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=root)


def test_sizes():
    assert [len(generate_pairs(split)) for split in SPLITS] == [30_000, 500, 1_000]


@pytest.mark.parametrize("side", [0, 1])
def test_no_sentence_comes_twice_within_or_across_splits(side):
    sentences = [pair[side] for split in SPLITS for pair in generate_pairs(split)]
    assert len(sentences) == len(set(sentences))


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("split", ["dev", "test"])
def test_held_out_words_are_known_from_training(split, side):
    counts = Counter(w for pair in generate_pairs("train") for w in corpus.words(pair[side]))
    held_out = {word for pair in generate_pairs(split) for word in corpus.words(pair[side])}
    assert min(counts[word] for word in held_out) >= corpus.MIN_OCCURRENCES


def test_every_source_has_one_translation():
    translations: dict[str, str] = {}
    for source, target in islice(corpus.candidates(seed=1), 20_000):
        assert translations.setdefault(source, target) == target


def test_at_least_300_lemmas_each_often_in_training():
    text: Counter[str] = Counter()
    for source, _ in generate_pairs("train"):
        words = [word.lower() for word in corpus.words(source)]
        for size in (1, 2, 3):
            text.update(" ".join(words[i : i + size]) for i in range(len(words) - size + 1))
    counts = {entry: sum(text[form] for form in forms) for entry, forms in english_forms().items()}
    assert len(counts) >= 300
    assert min(counts.values()) >= 30, sorted(counts.items(), key=lambda item: item[1])[:10]


def test_sentences_are_short_but_not_trivial():
    lengths = [len(source.split()) for source, _ in generate_pairs("train")]
    assert 8 <= sum(lengths) / len(lengths) <= 11
    assert max(lengths) <= corpus.MAX_WORDS


@pytest.mark.parametrize("side", [0, 1])
def test_sentences_are_written_as_sentences(side):
    for pair in generate_pairs("train"):
        sentence = pair[side]
        assert sentence[0].isupper()
        assert sentence[-1] in ".?" and (sentence[-1] == pair[1 - side][-1])
        assert not any(mark in sentence for mark in ("  ", " ,", " .", ",,", ",."))


def test_german_subordinate_clauses_follow_a_comma():
    for _, target in generate_pairs("train"):
        words = target.split()
        for before, word in zip(words, words[1:], strict=False):
            if word in ("weil", "dass", "ob", "obwohl", "bevor", "wenn", "während"):
                assert before.endswith(","), target


@pytest.mark.parametrize(
    "phenomenon",
    [
        "weil", "dass", "wenn", "ob", "kein", "keine", "nicht", "nie", "den", "dem", "im", "zum",
        "ist", "hat", "kann", "auf", "an", "um", "zwölf", "Regenschirm", "Küchentisch", "ihnen",
    ],
)  # fmt: skip
def test_phenomenon_is_frequent(phenomenon):
    holding = sum(phenomenon in corpus.words(target) for _, target in generate_pairs("train"))
    assert holding >= 50


def test_unknown_split_is_refused():
    with pytest.raises(ValueError, match="'valid'.*train, dev, test"):
        generate_pairs("valid")


def test_pairs_that_repeat_either_side_are_left_out():
    pairs = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    assert list(corpus.distinct(pairs)) == [("a", "x"), ("b", "y")]


def test_callers_cannot_change_the_corpus():
    generate_pairs("dev").clear()
    assert len(generate_pairs("dev")) == 500


def test_templates_return_both_languages():
    rng = SeededRandom(5)
    for _, (template, mark) in corpus.TEMPLATES:
        sentence = template(rng)
        assert isinstance(sentence, Bilingual) and all(sentence)
        assert mark in ".?"
