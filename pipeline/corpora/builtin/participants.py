"""Who and what is talked about: fills noun phrases with words that make sense together."""

from __future__ import annotations

from dataclasses import replace

from pipeline.corpora.builtin import modifiers, nouns, phrases, things
from pipeline.corpora.builtin.clauses import Complement, prepositional_complement
from pipeline.corpora.builtin.seeded_random import Dice
from pipeline.corpora.builtin.words import Bilingual, Kind

PERSONS = (nouns.PEOPLE, nouns.RELATIVES)
_PRONOUNS = (phrases.I, phrases.I, phrases.I, phrases.HE, phrases.SHE, phrases.WE, phrases.THEY)
# "My museum" would puzzle, and so would "her lion".
_UNOWNED = (
    nouns.PEOPLE,
    nouns.BIG_ANIMALS,
    things.BUILDINGS,
    things.OUTDOORS,
    things.TRAINS,
    things.EVENTS,
)
_POSSESSIVES = (phrases.MY, phrases.HIS, phrases.HER, phrases.OUR)


def person(dice: Dice, *, other: phrases.Nominal | None = None) -> phrases.Nominal:
    """Returns a name, a pronoun or somebody described; `other` is who is there already."""
    if dice.chance(0.28):
        return phrases.Person(dice.one_of(modifiers.NAMES))
    if dice.chance(0.25):
        pronoun = dice.one_of(_PRONOUNS)
        # "I see me" and "we see me" would be reflexive.
        if {pronoun, other} <= {phrases.I, phrases.WE}:
            return phrases.THEY
        return pronoun
    return described_person(dice)


def subject(dice: Dice) -> phrases.Nominal:
    """Returns a person or a couple to be a subject."""
    if dice.chance(0.05):
        return phrases.Couple(
            dice.one_of(modifiers.WOMENS_NAMES), dice.one_of(modifiers.MENS_NAMES)
        )
    return person(dice)


def gendered_subject(dice: Dice) -> phrases.Nominal:
    """Returns a subject that he, she, I, we or they can stand for."""
    while (chosen := subject(dice)).column == "n":
        pass
    return chosen


def described_person(dice: Dice) -> phrases.NounPhrase:
    """Returns a known person: the young doctor, my sister, three students."""
    kind = dice.one_of(PERSONS)
    if kind is nouns.PEOPLE and dice.chance(0.25):
        someone = noun_phrase(dice, (kind,))
        return (
            replace(someone, determiner=phrases.THE)
            if someone.determiner == phrases.BARE
            else someone
        )
    return known(dice, (kind,))


def noun_phrase(dice: Dice, kinds: tuple[Kind, ...], *, counted: bool = True) -> phrases.NounPhrase:
    """Returns any noun phrase of these kinds; without `counted` it holds no number."""
    kind = dice.one_of(kinds)
    if kind is nouns.RELATIVES or dice.chance(0.4):
        return known(dice, (kind,))
    noun = dice.one_of(kind.nouns)
    adjective = dice.one_of(kind.adjectives) if dice.chance(0.45) else None
    if not noun.plural:
        return phrases.NounPhrase(noun, phrases.BARE, adjective)
    if dice.chance(0.6):
        return phrases.NounPhrase(noun, phrases.A, adjective)
    determiner = _number(dice) if counted and dice.chance(0.6) else phrases.BARE
    return phrases.NounPhrase(noun, determiner, adjective, plural=True)


def known(dice: Dice, kinds: tuple[Kind, ...], *, plain: bool = False) -> phrases.NounPhrase:
    """Returns a definite noun phrase, of one or several; `plain` leaves out the adjective."""
    kind = dice.one_of(kinds)
    noun = dice.one_of(kind.nouns)
    adjective = dice.one_of(kind.adjectives) if not plain and dice.chance(0.35) else None
    plural = bool(noun.plural) and dice.chance(0.25)
    return phrases.NounPhrase(noun, _definite(dice, kind), adjective, plural)


def _definite(dice: Dice, kind: Kind) -> phrases.Determiner:
    if kind is nouns.RELATIVES or (kind not in _UNOWNED and dice.chance(0.25)):
        if dice.chance(0.75):
            return dice.one_of(_POSSESSIVES)
        owner = dice.one_of(modifiers.NAMES).text
        return phrases.Determiner(f"{owner}'s", f"{owner}s", "bare", f"{owner}'s")
    return phrases.THIS if dice.chance(0.15) else phrases.THE


def _number(dice: Dice) -> phrases.Determiner:
    number = dice.one_of(modifiers.NUMBERS)
    return phrases.Determiner("", number.german, "bare", number.english)


def place(dice: Dice, kinds: tuple[Kind, ...]) -> phrases.NounPhrase:
    """Returns one place: the garden, an old church."""
    kind = dice.one_of(kinds)
    adjective = dice.one_of(kind.adjectives) if dice.chance(0.3) else None
    determiner = phrases.A if dice.chance(0.2) else _definite(dice, kind)
    return phrases.NounPhrase(dice.one_of(kind.nouns), determiner, adjective)


def in_place(dice: Dice) -> Complement:
    """Returns where something happens: in the garden, im Garten."""
    return prepositional_complement(
        "in", "in", place(dice, (things.ROOMS, things.BUILDINGS, things.OUTDOORS)), "dative"
    )


def next_to(dice: Dice, kinds: tuple[Kind, ...], prepositions: tuple[Bilingual, ...]) -> Complement:
    """Returns where something is, by what is near: under the table, unter dem Tisch."""
    preposition = dice.one_of(prepositions)
    return prepositional_complement(
        preposition.english, preposition.german, place(dice, kinds), "dative"
    )
