import pytest

from pipeline.corpora.builtin import english
from pipeline.corpora.builtin.words import BE
from tests.pipeline.corpora.builtin.lexicon import MODALS, VERBS


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("dog", "dogs"),
        ("box", "boxes"),
        ("bench", "benches"),
        ("city", "cities"),
        ("key", "keys"),
        ("knife", "knives"),
        ("mouse", "mice"),
        ("potato", "potatoes"),
        ("radio", "radios"),
        ("wine glass", "wine glasses"),
        ("woman", "women"),
    ],
)
def test_plural(singular, plural):
    assert english.plural(singular) == plural


@pytest.mark.parametrize(
    ("verb", "third"),
    [
        ("get up", "gets up"),
        ("go out", "goes out"),
        ("do", "does"),
        ("have", "has"),
        ("carry", "carries"),
        ("wash", "washes"),
        ("buy", "buys"),
        ("watch TV", "watches TV"),
    ],
)
def test_third_person(verb, third):
    assert english.third_person(verb) == third


@pytest.mark.parametrize(
    ("verb", "ing_form"),
    [
        ("sleep", "sleeping"),
        ("run", "running"),
        ("dance", "dancing"),
        ("take off", "taking off"),
        ("carry", "carrying"),
    ],
)
def test_ing_form(verb, ing_form):
    assert english.ing_form(verb) == ing_form


@pytest.mark.parametrize(
    ("text", "contracted"),
    [
        ("I am tired.", "I'm tired."),
        ("The dog is not here.", "The dog isn't here."),
        ("Where is the station?", "Where's the station?"),
        ("She cannot sing because she will not stay.", "She can't sing because she won't stay."),
        ("This is his island.", "This is his island."),
    ],
)
def test_contraction(text, contracted):
    assert english.contract(text) == contracted


def test_indefinite_article_depends_on_the_next_word():
    words = ("apple", "red apple", "umbrella", "old car")
    assert [english.indefinite_article(word) for word in words] == ["an", "a", "an", "an"]


@pytest.mark.parametrize(
    ("agreement", "past", "split", "group"),
    [
        ("he", False, False, ("", "eats")),
        ("we", False, False, ("", "eat")),
        ("he", False, True, ("does", "eat")),
        ("I", False, True, ("do", "eat")),
        ("he", True, False, ("", "ate")),
        ("he", True, True, ("did", "eat")),
    ],
)
def test_do_support(agreement, past, split, group):
    assert english.simple_group(VERBS["eat"], agreement, past=past, split=split) == group


@pytest.mark.parametrize(
    ("agreement", "forms"),
    [
        ("I", ("am", "was")),
        ("you", ("are", "were")),
        ("he", ("is", "was")),
        ("we", ("are", "were")),
    ],
)
def test_be_needs_no_do(agreement, forms):
    groups = [english.simple_group(BE, agreement, past=past, split=True) for past in (False, True)]
    assert groups == [(form, "") for form in forms]


@pytest.mark.parametrize(
    ("negated", "split", "group"),
    [
        (False, False, ("", "wants to sleep")),
        (True, True, ("does not", "want to sleep")),
        (False, True, ("does", "want to sleep")),
    ],
)
def test_want_to_is_a_full_verb(negated, split, group):
    want = MODALS["want to"]
    actual = english.modal_group(VERBS["sleep"], "he", modal=want, negated=negated, split=split)
    assert actual == group
