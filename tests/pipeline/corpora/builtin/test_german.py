"""German inflection against forms as a school grammar gives them, written by hand."""

import pytest

from pipeline.corpora.builtin import german
from pipeline.corpora.builtin.lexicon import lexicon
from pipeline.corpora.builtin.phrases import BARE, MY, OUR, THE, THIS, A, Determiner, NounPhrase
from pipeline.corpora.builtin.words import Case
from tests.pipeline.corpora.builtin.lexicon import MODALS, NOUNS, VERBS

KEIN = Determiner("a", "kein", "ein")
THREE = Determiner("", "drei", "bare", "three")


@pytest.mark.parametrize(
    ("determiner", "adjective", "noun", "plural", "nominative", "accusative", "dative"),
    [
        # weak, after der
        (THE, "small", "dog", False, "der kleine Hund", "den kleinen Hund", "dem kleinen Hund"),
        (THE, "old", "woman", False, "die alte Frau", "die alte Frau", "der alten Frau"),
        (THE, "new", "house", False, "das neue Haus", "das neue Haus", "dem neuen Haus"),
        (THE, "small", "dog", True, "die kleinen Hunde", "die kleinen Hunde", "den kleinen Hunden"),
        # mixed, after ein
        (A, "red", "apple", False, "ein roter Apfel", "einen roten Apfel", "einem roten Apfel"),
        (A, "long", "story", False, "eine lange Geschichte", *2 * ("",)),
        (A, "expensive", "dress", False, "ein teures Kleid", "ein teures Kleid", ""),
        (MY, "tired", "cat", False, "meine müde Katze", "meine müde Katze", "meiner müden Katze"),
        (OUR, "dark", "car", False, "unser dunkles Auto", "", "unserem dunklen Auto"),
        (KEIN, "ripe", "pear", True, "keine reifen Birnen", "", "keinen reifen Birnen"),
        # strong, without anything that shows case
        (BARE, "hot", "coffee", False, "heißer Kaffee", "heißen Kaffee", "heißem Kaffee"),
        (BARE, "cold", "milk", False, "kalte Milch", "kalte Milch", "kalter Milch"),
        (BARE, "cold", "water", False, "kaltes Wasser", "kaltes Wasser", "kaltem Wasser"),
        (THREE, "old", "book", True, "drei alte Bücher", "", "drei alten Büchern"),
        # nouns: weak ones, and plurals without a dative -n
        (THIS, "young", "boy", False, "dieser junge Junge", "diesen jungen Jungen", ""),
        (THE, None, "student", False, "der Student", "den Studenten", "dem Studenten"),
        (THE, None, "neighbour", True, "die Nachbarn", "die Nachbarn", "den Nachbarn"),
        (THE, None, "car", True, "die Autos", "die Autos", "den Autos"),
        (THE, None, "girl", True, "die Mädchen", "die Mädchen", "den Mädchen"),
        (THE, None, "child", True, "die Kinder", "die Kinder", "den Kindern"),
        (THE, None, "museum", True, "die Museen", "die Museen", "den Museen"),
    ],
)
def test_noun_phrase_agrees(determiner, adjective, noun, plural, nominative, accusative, dative):
    modifier = lexicon().adjectives[adjective] if adjective else None
    phrase = NounPhrase(NOUNS[noun], determiner, modifier, plural)
    expected: dict[Case, str] = {
        "nominative": nominative,
        "accusative": accusative,
        "dative": dative,
    }
    for case, form in expected.items():
        if form:
            assert phrase.german(case) == form


@pytest.mark.parametrize(
    ("preposition", "phrase", "joined"),
    [
        ("in", "dem alten Park", "im alten Park"),
        ("in", "das Haus", "ins Haus"),
        ("in", "den Wald", "in den Wald"),
        ("zu", "dem Bahnhof", "zum Bahnhof"),
        ("zu", "der Schule", "zur Schule"),
        ("zu", "einer Schule", "zu einer Schule"),
        ("von", "dem Löwen", "vom Löwen"),
        ("auf", "dem Tisch", "auf dem Tisch"),
    ],
)
def test_preposition_contracts_with_definite_article(preposition, phrase, joined):
    assert german.contract(preposition, phrase) == joined


@pytest.mark.parametrize(
    ("verb", "i", "you", "he", "we"),
    [
        ("buy", "kaufe", "kaufst", "kauft", "kaufen"),
        ("dance", "tanze", "tanzt", "tanzt", "tanzen"),
        ("eat", "esse", "isst", "isst", "essen"),
        ("feed", "füttere", "fütterst", "füttert", "füttern"),
        ("work", "arbeite", "arbeitest", "arbeitet", "arbeiten"),
        ("run", "laufe", "läufst", "läuft", "laufen"),
        ("invite", "lade", "lädst", "lädt", "laden"),
        ("help", "helfe", "hilfst", "hilft", "helfen"),
        ("have", "habe", "hast", "hat", "haben"),
        ("like", "mag", "magst", "mag", "mögen"),
        ("want", "will", "willst", "will", "wollen"),
        ("know", "weiß", "weißt", "weiß", "wissen"),
        ("be", "bin", "bist", "ist", "sind"),
    ],
)
def test_present(verb, i, you, he, we):
    forms = [german.present(VERBS[verb], agreement) for agreement in ("I", "you", "he", "we")]
    assert forms == [i, you, he, we]


@pytest.mark.parametrize(
    ("verb", "agreement", "past"),
    [
        ("buy", "he", ("hat", "gekauft")),
        ("go", "he", ("ist", "gegangen")),
        ("get up", "I", ("bin", "aufgestanden")),
        ("visit", "we", ("haben", "besucht")),
        ("photograph", "I", ("habe", "fotografiert")),
        ("invite", "we", ("haben", "eingeladen")),
        ("be", "I", ("war", "")),
        ("be", "we", ("waren", "")),
    ],
)
def test_past_is_the_spoken_one_with_its_auxiliary(verb, agreement, past):
    assert german.past_group(VERBS[verb], agreement) == past


@pytest.mark.parametrize(
    ("modal", "agreement", "negated", "finite"),
    [
        ("can", "he", False, "kann"),
        ("can", "we", True, "können"),
        ("must", "I", False, "muss"),
        ("must", "I", True, "darf"),
        ("must", "we", True, "dürfen"),
        ("will", "I", False, "werde"),
        ("will", "he", False, "wird"),
        ("will", "you", False, "wirst"),
        ("can", "you", False, "kannst"),
        ("must", "you", False, "musst"),
        ("must", "you", True, "darfst"),
        ("should", "you", False, "solltest"),
        ("want to", "I", False, "will"),
        ("want to", "we", False, "wollen"),
    ],
)
def test_modal(modal, agreement, negated, finite):
    group = german.modal_group(VERBS["get up"], agreement, modal=MODALS[modal], negated=negated)
    assert group == (finite, "aufstehen")


@pytest.mark.parametrize(
    ("verb", "infinitive", "last"),
    [("call", "anzurufen", "anruft"), ("buy", "zu kaufen", "kauft")],
)
def test_separable_verbs_join_in_subordinate_clauses(verb, infinitive, last):
    assert german.zu_infinitive(VERBS[verb]) == infinitive
    group = german.present_group(VERBS[verb], "he")
    assert german.join_finite_last(group, VERBS[verb]) == last


def test_relative_pronouns():
    asked: tuple[tuple[Case, german.Column], ...] = (
        ("nominative", "m"),
        ("accusative", "m"),
        ("accusative", "n"),
        ("dative", "f"),
        ("dative", "plural"),
    )
    pronouns = [german.relative_pronoun(case, column) for case, column in asked]
    assert pronouns == ["der", "den", "das", "der", "denen"]


def test_every_participle_holds_its_prefix():
    for verb in VERBS.values():
        assert verb.participle.startswith(verb.prefix)
        assert not verb.infinitive.startswith(verb.prefix or "-")


def test_every_noun_is_capitalised():
    assert all(noun.german[0].isupper() for noun in NOUNS.values())
    assert all(verb.infinitive.islower() for verb in VERBS.values())
