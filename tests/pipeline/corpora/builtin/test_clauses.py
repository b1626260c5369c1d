"""Word order, against sentences translated by hand."""

from dataclasses import replace

import pytest

from pipeline.corpora.builtin import clauses as c
from pipeline.corpora.builtin import phrases
from pipeline.corpora.builtin.lexicon import lexicon
from pipeline.corpora.builtin.words import BE, Bilingual, Name
from tests.pipeline.corpora.builtin.lexicon import MODALS, NOUNS, VERBS

MAN = phrases.NounPhrase(NOUNS["man"])
PETER = phrases.Person(Name("Peter", "m"))
YESTERDAY = Bilingual("yesterday", "gestern")
TOMORROW = Bilingual("tomorrow", "morgen")
BREAD = phrases.NounPhrase(NOUNS["bread"])
A_CAR = phrases.NounPhrase(NOUNS["car"], phrases.A)


def buys(what, *, negated=False, **more):
    complement = c.object_complement(what, "accusative", negated=negated)
    kein = negated and what.is_indefinite
    return c.Clause(
        MAN, VERBS["buy"], (complement,), negated=negated, negated_by_determiner=kein, **more
    )


GETS_UP = c.Clause(PETER, VERBS["get up"])
IS_TIRED = c.Clause(phrases.HE, BE, (c.predicate_complement(lexicon().adjectives["tired"]),))
SINGS_IN_GARDEN = c.Clause(
    PETER,
    VERBS["sing"],
    (c.prepositional_complement("in", "in", phrases.NounPhrase(NOUNS["garden"]), "dative"),),
)
GIVES = c.Clause(
    PETER,
    VERBS["give"],
    (
        c.object_complement(phrases.NounPhrase(NOUNS["child"]), "dative"),
        c.object_complement(phrases.NounPhrase(NOUNS["apple"], phrases.A), "accusative"),
    ),
)
SEES_HER = c.Clause(MAN, VERBS["see"], (c.object_complement(phrases.SHE, "accusative"),))


@pytest.mark.parametrize(
    ("clause", "english", "german"),
    [
        (buys(BREAD), "the man buys the bread", "der Mann kauft das Brot"),
        (buys(A_CAR), "the man buys a car", "der Mann kauft ein Auto"),
        (
            buys(BREAD, tense="past", time=YESTERDAY),
            "the man bought the bread yesterday",
            "der Mann hat gestern das Brot gekauft",
        ),
        (
            replace(GETS_UP, time=Bilingual("at seven o'clock", "um sieben Uhr")),
            "Peter gets up at seven o'clock",
            "Peter steht um sieben Uhr auf",
        ),
        (
            buys(BREAD, negated=True),
            "the man does not buy the bread",
            "der Mann kauft das Brot nicht",
        ),
        (buys(A_CAR, negated=True), "the man does not buy a car", "der Mann kauft kein Auto"),
        (
            replace(SINGS_IN_GARDEN, negated=True, tense="past"),
            "Peter did not sing in the garden",
            "Peter hat nicht im Garten gesungen",
        ),
        (
            replace(GETS_UP, negated=True, tense=MODALS["can"]),
            "Peter cannot get up",
            "Peter kann nicht aufstehen",
        ),
        (
            buys(A_CAR, frequency=Bilingual("never", "nie")),
            "the man never buys a car",
            "der Mann kauft nie ein Auto",
        ),
        (GIVES, "Peter gives the child an apple", "Peter gibt dem Kind einen Apfel"),
        (
            replace(SEES_HER, time=TOMORROW),
            "the man sees her tomorrow",
            "der Mann sieht sie morgen",
        ),
        (replace(IS_TIRED, negated=True), "he is not tired", "er ist nicht müde"),
        (
            buys(A_CAR, tense="progressive", negated=True),
            "the man is not buying a car",
            "der Mann kauft kein Auto",
        ),
        (
            c.Clause(phrases.YOU, VERBS["get up"], tense="past"),
            "you got up",
            "du bist aufgestanden",
        ),
        (
            replace(GETS_UP, tense=MODALS["want to"], negated=True),
            "Peter does not want to get up",
            "Peter will nicht aufstehen",
        ),
    ],
)
def test_statement(clause, english, german):
    assert c.statement(clause) == (english, german)


def test_time_in_front_inverts_german():
    clause = buys(BREAD, tense=MODALS["will"], time=TOMORROW)
    assert c.statement(clause, time_first=True) == (
        "tomorrow the man will buy the bread",
        "morgen wird der Mann das Brot kaufen",
    )


@pytest.mark.parametrize(
    ("clause", "asked", "english", "german"),
    [
        (buys(BREAD), None, "does the man buy the bread", "kauft der Mann das Brot"),
        (
            replace(GETS_UP, tense="past"),
            Bilingual("when", "wann"),
            "when did Peter get up",
            "wann ist Peter aufgestanden",
        ),
        (IS_TIRED, Bilingual("why", "warum"), "why is he tired", "warum ist er müde"),
        (
            replace(GETS_UP, tense=MODALS["must"]),
            None,
            "must Peter get up",
            "muss Peter aufstehen",
        ),
    ],
)
def test_question(clause, asked, english, german):
    assert c.question(clause, asked) == (english, german)


@pytest.mark.parametrize(
    ("clause", "english", "german"),
    [
        (IS_TIRED, "because he is tired", "weil er müde ist"),
        (GETS_UP, "because Peter gets up", "weil Peter aufsteht"),
        (
            replace(GETS_UP, tense="past"),
            "because Peter got up",
            "weil Peter aufgestanden ist",
        ),
        (
            buys(BREAD, tense=MODALS["should"]),
            "because the man should buy the bread",
            "weil der Mann das Brot kaufen sollte",
        ),
    ],
)
def test_subordinate_clause_ends_with_its_verb(clause, english, german):
    assert c.subordinate(clause, Bilingual("because", "weil")) == (english, german)


def test_purpose():
    call = replace(SEES_HER, verb=VERBS["call"])
    assert c.purpose(call) == ("in order to call her", "um sie anzurufen")


def test_relative_and_thing_pronouns_take_the_antecedents_gender():
    apple = phrases.NounPhrase(NOUNS["apple"])
    relative = phrases.relative_pronoun(apple, person=False)
    assert (relative.english(subject=False), relative.german("accusative")) == ("that", "den")
    assert phrases.thing_pronoun(apple).german("nominative") == "er"
    assert phrases.thing_pronoun(apple).english(subject=True) == "it"
    assert phrases.thing_pronoun(replace(apple, plural=True)).english(subject=True) == "they"


def test_neuter_person_has_no_pronoun():
    with pytest.raises(ValueError, match="the child"):
        phrases.person_pronoun(phrases.NounPhrase(NOUNS["child"]))
