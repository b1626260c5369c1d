"""Who and what is talked about: fills noun phrases with words that make sense together."""

from __future__ import annotations

from dataclasses import replace

from pipeline.builtin import modifiers as m
from pipeline.builtin import nouns as n
from pipeline.builtin import phrases as p
from pipeline.builtin import things as t
from pipeline.builtin.clauses import Complement, prepositional_complement
from pipeline.builtin.dice import Dice
from pipeline.builtin.words import Bilingual, Kind

PERSONS = (n.PEOPLE, n.RELATIVES)
_PRONOUNS = (p.I, p.I, p.I, p.HE, p.SHE, p.WE, p.THEY)
# "My museum" would puzzle, and so would "her lion".
_UNOWNED = (n.PEOPLE, n.BIG_ANIMALS, t.BUILDINGS, t.OUTDOORS, t.TRAINS, t.EVENTS)
_POSSESSIVES = (p.MY, p.HIS, p.HER, p.OUR)


def person(dice: Dice, *, other: p.Nominal | None = None) -> p.Nominal:
    """Returns a name, a pronoun or somebody described; `other` is who is there already."""
    if dice.chance(0.28):
        return p.Person(dice.one_of(m.NAMES))
    if dice.chance(0.25):
        pronoun = dice.one_of(_PRONOUNS)
        # "I see me" and "we see me" would be reflexive.
        if {pronoun, other} <= {p.I, p.WE}:
            return p.THEY
        return pronoun
    return described_person(dice)


def subject(dice: Dice) -> p.Nominal:
    """Returns a person or a couple to be a subject."""
    if dice.chance(0.05):
        return p.Couple(dice.one_of(m.WOMENS_NAMES), dice.one_of(m.MENS_NAMES))
    return person(dice)


def gendered_subject(dice: Dice) -> p.Nominal:
    """Returns a subject that he, she, I, we or they can stand for."""
    while (chosen := subject(dice)).column == "n":
        pass
    return chosen


def described_person(dice: Dice) -> p.NounPhrase:
    """Returns a known person: the young doctor, my sister, three students."""
    kind = dice.one_of(PERSONS)
    if kind is n.PEOPLE and dice.chance(0.25):
        someone = noun_phrase(dice, (kind,))
        return replace(someone, determiner=p.THE) if someone.determiner == p.BARE else someone
    return known(dice, (kind,))


def noun_phrase(dice: Dice, kinds: tuple[Kind, ...], *, counted: bool = True) -> p.NounPhrase:
    """Returns any noun phrase of these kinds; without `counted` it holds no number."""
    kind = dice.one_of(kinds)
    if kind is n.RELATIVES or dice.chance(0.4):
        return known(dice, (kind,))
    noun = dice.one_of(kind.nouns)
    adjective = dice.one_of(kind.adjectives) if dice.chance(0.45) else None
    if not noun.plural:
        return p.NounPhrase(noun, p.BARE, adjective)
    if dice.chance(0.6):
        return p.NounPhrase(noun, p.A, adjective)
    determiner = _number(dice) if counted and dice.chance(0.6) else p.BARE
    return p.NounPhrase(noun, determiner, adjective, plural=True)


def known(dice: Dice, kinds: tuple[Kind, ...], *, plain: bool = False) -> p.NounPhrase:
    """Returns a definite noun phrase, of one or several; `plain` leaves out the adjective."""
    kind = dice.one_of(kinds)
    noun = dice.one_of(kind.nouns)
    adjective = dice.one_of(kind.adjectives) if not plain and dice.chance(0.35) else None
    plural = bool(noun.plural) and dice.chance(0.25)
    return p.NounPhrase(noun, _definite(dice, kind), adjective, plural)


def _definite(dice: Dice, kind: Kind) -> p.Determiner:
    if kind is n.RELATIVES or (kind not in _UNOWNED and dice.chance(0.25)):
        if dice.chance(0.75):
            return dice.one_of(_POSSESSIVES)
        owner = dice.one_of(m.NAMES).text
        return p.Determiner(f"{owner}'s", f"{owner}s", "bare", f"{owner}'s")
    return p.THIS if dice.chance(0.15) else p.THE


def _number(dice: Dice) -> p.Determiner:
    number = dice.one_of(m.NUMBERS)
    return p.Determiner("", number.german, "bare", number.english)


def place(dice: Dice, kinds: tuple[Kind, ...]) -> p.NounPhrase:
    """Returns one place: the garden, an old church."""
    kind = dice.one_of(kinds)
    adjective = dice.one_of(kind.adjectives) if dice.chance(0.3) else None
    determiner = p.A if dice.chance(0.2) else _definite(dice, kind)
    return p.NounPhrase(dice.one_of(kind.nouns), determiner, adjective)


def in_place(dice: Dice) -> Complement:
    """Returns where something happens: in the garden, im Garten."""
    return prepositional_complement(
        "in", "in", place(dice, (t.ROOMS, t.BUILDINGS, t.OUTDOORS)), "dative"
    )


def next_to(dice: Dice, kinds: tuple[Kind, ...], prepositions: tuple[Bilingual, ...]) -> Complement:
    """Returns where something is, by what is near: under the table, unter dem Tisch."""
    preposition = dice.one_of(prepositions)
    return prepositional_complement(
        preposition.english, preposition.german, place(dice, kinds), "dative"
    )
