import hashlib
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from pipeline.corpora.builtin import corpus, generate_pairs
from pipeline.corpora.builtin.seeded_random import SeededRandom
from pipeline.corpora.builtin.words import Bilingual
from tests.pipeline.corpora.builtin.first_sentences import load_first_sentences
from tests.pipeline.corpora.builtin.lexicon import english_forms

SPLITS = ("train", "dev", "test")
# Taken when the grammar was last changed; a change that is not meant shows here first.
SHA256 = {
    "train": "5f7a077fde9e9d552b11110ddd4b5d834d574c0159714da661beda0388ee2225",
    "dev": "647061abe1fd4ae14c42326c52bee9288f5e529cea84b2307aa50221d404ec4c",
    "test": "fddac9c78a76fface4ce8999e2020f9b8ed8d5b0871b6a4ad0516984da1f18f9",
}


def digest(split):
    text = "".join(f"{source}\t{target}\n" for source, target in generate_pairs(split))
    return hashlib.sha256(text.encode()).hexdigest()


def plain(sentence):
    """What all spellings of a sentence have in common."""
    return sentence.lower().strip(".?!")


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


def test_no_source_comes_twice_within_or_across_splits():
    sources = [source for split in SPLITS for source, _ in generate_pairs(split)]
    assert len(sources) == len(set(sources))


@pytest.mark.parametrize("side", [0, 1])
def test_no_generated_sentence_comes_twice_in_any_spelling(side):
    phrases = set(corpus.set_phrases())
    sentences = [
        plain(pair[side])
        for split in SPLITS
        for pair in generate_pairs(split)
        if pair not in phrases
    ]
    assert len(sentences) == len(set(sentences))
    assert not {plain(pair[side]) for pair in phrases}.intersection(sentences)


def test_set_phrases_are_for_training_alone():
    phrases = set(corpus.set_phrases())
    assert phrases < set(generate_pairs("train"))
    assert len(phrases) < 0.02 * corpus.SIZES["train"]


@pytest.mark.parametrize(
    "pair",
    [
        ("Good morning!", "Guten Morgen!"),
        ("Good morning.", "Guten Morgen."),
        ("good morning", "Guten Morgen"),
        ("how are you", "Wie geht es dir"),
        ("how are you?", "Wie geht es dir?"),
    ],
)
def test_set_phrase_in_several_spellings(pair):
    assert pair in corpus.set_phrases()


@pytest.mark.parametrize("source", load_first_sentences())
def test_first_sentence_is_within_reach_of_training(source):
    """Each of its word pairs occurs in training, in any spelling; one on each side may be new."""
    target = load_first_sentences()[source][0]
    for side, sentence in enumerate((source, target)):
        new = word_pairs(sentence) - training_word_pairs()[side]
        assert len(new) <= 1, (sentence, new)


def word_pairs(sentence):
    words = ["<s>", *plain(sentence).split(), "</s>"]
    return set(zip(words, words[1:], strict=False))


@cache
def training_word_pairs():
    """The word pairs of all training sentences, in any spelling, by side."""
    sides = zip(*generate_pairs("train"), strict=True)
    return [set().union(*(word_pairs(sentence) for sentence in side)) for side in sides]


def test_share_of_informal_spellings():
    sources = [source for source, _ in generate_pairs("train")]
    lower_case = sum(source == source.lower() for source in sources) / len(sources)
    unmarked = sum(source[-1] not in corpus.END_MARKS for source in sources) / len(sources)
    contracted = sum("n't" in source or "'m " in source for source in sources) / len(sources)
    assert 0.08 < lower_case < 0.16
    assert 0.09 < unmarked < 0.17
    assert 0.01 < contracted < 0.05


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
    assert 7 <= sum(lengths) / len(lengths) <= 11
    assert max(lengths) <= corpus.MAX_WORDS


@pytest.mark.parametrize("side", [0, 1])
def test_sentences_are_written_as_sentences(side):
    for pair in generate_pairs("train"):
        sentence = pair[side]
        assert sentence[0].isupper() or (side == 0 and sentence == sentence.lower())
        marks = [text[len(text.rstrip(corpus.END_MARKS)) :] for text in pair]
        assert marks[0] == marks[1] and marks[0] in ("", *corpus.END_MARKS)
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
    pairs = [("a", "x"), ("A.", "y"), ("b", "X?"), ("b", "y")]
    assert list(corpus.distinct(pairs)) == [("a", "x"), ("b", "y")]


def test_callers_cannot_change_the_corpus():
    generate_pairs("dev").clear()
    assert len(generate_pairs("dev")) == 500


def test_templates_return_both_languages():
    rng = SeededRandom(5)
    for _, (template, mark) in corpus.TEMPLATES:
        sentence = template(rng)
        assert isinstance(sentence, Bilingual) and all(sentence)
        assert mark in ("", ".", "?")
