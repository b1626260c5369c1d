"""Splits of the corpus: train, dev and test, drawn from the templates."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from pipeline.corpora.builtin import compound_sentences as compound
from pipeline.corpora.builtin import english
from pipeline.corpora.builtin import sentences as simple
from pipeline.corpora.builtin import short_sentences as short
from pipeline.corpora.builtin.lexicon import lexicon
from pipeline.corpora.builtin.seeded_random import SeededRandom
from pipeline.corpora.builtin.words import Bilingual

Pair = tuple[str, str]

SIZES = {"train": 30_000, "dev": 500, "test": 1_000}
# Word forms of dev and test occur at least this often in training.
MIN_OCCURRENCES = 20
MAX_WORDS = 20
END_MARKS = ".?!"
_SEED = 20170612  # the day the paper appeared

_Template = Callable[[SeededRandom], Bilingual]
# (weight, template, end mark); templates without one set it themselves.
TEMPLATES: tuple[tuple[int, tuple[_Template, str]], ...] = (
    (18, (simple.tell, ".")),
    (8, (simple.deny, ".")),
    (6, (simple.ask_yes_or_no, "?")),
    (3, (simple.ask_who, "?")),
    (2, (simple.ask_whom, "?")),
    (5, (simple.ask_what, "?")),
    (2, (simple.ask_where, "?")),
    (3, (simple.ask_when_or_why, "?")),
    (3, (simple.feel, ".")),
    (1, (simple.ask_feeling, "?")),
    (6, (simple.describe, ".")),
    (2, (simple.tell_price, ".")),
    (1, (simple.tell_age, ".")),
    (2, (simple.tell_schedule, ".")),
    (1, (simple.ask_schedule, "?")),
    (3, (simple.locate, ".")),
    (1, (simple.ask_location, "?")),
    (5, (compound.give_reason, ".")),
    (3, (compound.concede, ".")),
    (5, (compound.value, ".")),
    (5, (compound.report, ".")),
    (3, (compound.wonder, ".")),
    (4, (compound.depend_on_weather, ".")),
    (4, (compound.order_in_time, ".")),
    (4, (compound.tell_of_subject, ".")),
    (4, (compound.tell_of_object, ".")),
    (3, (compound.know_somebody, ".")),
    (4, (compound.have_purpose, ".")),
    (3, (compound.join, ".")),
    (10, (short.tell_activity, ".")),
    (4, (short.ask_activity, "?")),
    (9, (short.tell_transitive, ".")),
    (4, (short.ask_transitive, "?")),
    (5, (short.describe_shortly, ".")),
    (2, (short.ask_place, "?")),
    (2, (short.tell_home_or_language, ".")),
    (2, (short.ask_home_or_language, "?")),
    (2, (short.order, ".")),
    (10, (short.address, "")),
)


def words(sentence: str) -> list[str]:
    """Returns the words of a sentence without its punctuation."""
    return [word.strip(".,?!") for word in sentence.split()]


def candidates(seed: int = _SEED) -> Iterator[Pair]:
    """Yields sentence pairs endlessly, with repetitions."""
    rng = SeededRandom(seed)
    while True:
        template, mark = rng.weighted_choice(TEMPLATES)
        source, target = template(rng)
        pair = (_finish(source, mark), _finish(target, mark))
        if _reads_well(pair):
            yield _informal(rng, pair)


def _informal(rng: SeededRandom, pair: Pair) -> Pair:
    """Contracts some sources, puts some in lower case and drops the end mark of some pairs.

    The German stays correctly cased; its end mark is missing where the English one is.
    """
    source, target = pair
    if rng.chance(0.2):
        source = english.contract(source)
    if rng.chance(0.12):
        source, target = source.rstrip(END_MARKS), target.rstrip(END_MARKS)
        return (source.lower() if rng.chance(0.6) else source), target
    return (source.lower() if rng.chance(0.04) else source), target


def spellings(phrase: Pair) -> list[Pair]:
    """Returns a set phrase with and without its end mark, and each in lower case too."""
    source, target = phrase
    marks = (source[-1], *("." if source[-1] == "!" else ""), "")
    return [
        (f"{cased.rstrip(END_MARKS)}{mark}", f"{target.rstrip(END_MARKS)}{mark}")
        for mark in marks
        for cased in (source, source.lower())
    ]


def set_phrases() -> list[Pair]:
    """Returns all spellings of the set phrases, without repeated sources."""
    texts = lexicon().texts["set_phrase"]
    return list(dict(pair for phrase in texts for pair in spellings(phrase)).items())


def generate_pairs(split: str) -> list[Pair]:
    """Generates one split of the built-in English–German corpus.

    The splits share neither a source nor a target sentence, and every word form of dev and test
    occurs in train: they test new combinations of known words.

    Args:
        split: "train" (30,000 pairs), "dev" (500) or "test" (1,000).

    Returns:
        Distinct (English, German) sentences, always the same and in the same order.

    Raises:
        ValueError: There is no such split.
    """
    if split not in SIZES:
        raise ValueError(
            f"Received split {split!r}; expected one of {', '.join(SIZES)}. Choose one of these."
        )
    return list(_splits()[split])


@cache
def _splits() -> dict[str, list[Pair]]:
    """Generates all splits, once per process."""
    phrases = set_phrases()
    fresh = distinct(candidates())
    train = [*_take(fresh, SIZES["train"] - len(phrases)), *phrases]
    sources = _frequent_words(source for source, _ in train)
    targets = _frequent_words(target for _, target in train)
    held_out = (
        (source, target)
        for source, target in fresh
        if sources.issuperset(words(source)) and targets.issuperset(words(target))
    )
    return {
        "train": train,
        "dev": _take(held_out, SIZES["dev"]),
        "test": _take(held_out, SIZES["test"]),
    }


def _finish(text: str, mark: str) -> str:
    return f"{text[0].upper()}{text[1:]}{mark}"


def _reads_well(pair: Pair) -> bool:
    """True for short pairs that repeat no noun or name (capitalized in German)."""
    nouns = [word.rstrip("s") for word in words(pair[1]) if word[0].isupper()]
    short = all(len(sentence.split()) <= MAX_WORDS for sentence in pair)
    return short and len(nouns) == len(set(nouns))


def distinct(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Yields pairs of which neither side has occurred before in any spelling."""
    sources: set[str] = set()
    targets: set[str] = set()
    for source, target in pairs:
        source_key, target_key = normalize(source), normalize(target)
        if source_key not in sources and target_key not in targets:
            sources.add(source_key)
            targets.add(target_key)
            yield source, target


def normalize(sentence: str) -> str:
    """Returns the common form of a sentence's spellings: lower case, no end mark."""
    return sentence.rstrip(END_MARKS).lower()


def _take(pairs: Iterator[Pair], count: int) -> list[Pair]:
    return [next(pairs) for _ in range(count)]


def _frequent_words(sentences: Iterable[str]) -> set[str]:
    """Returns the cased word forms with at least MIN_OCCURRENCES occurrences."""
    counts = Counter(word for sentence in sentences for word in words(sentence))
    return {word for word, count in counts.items() if count >= MIN_OCCURRENCES}
