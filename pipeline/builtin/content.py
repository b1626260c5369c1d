"""What is talked about: fills noun phrases and clauses with words that make sense together."""

from __future__ import annotations

from dataclasses import replace

from pipeline.builtin import modifiers as m
from pipeline.builtin import nouns as n
from pipeline.builtin import phrases as p
from pipeline.builtin import things as t
from pipeline.builtin import verbs as v
from pipeline.builtin.clauses import (
    Clause,
    Complement,
    Tense,
    object_complement,
    predicate_complement,
    prepositional_complement,
)
from pipeline.builtin.dice import Dice
from pipeline.builtin.words import Bilingual, Kind, Modal, Verb

_PERSONS = (n.PEOPLE, n.RELATIVES)
_PRONOUNS = (p.I, p.I, p.HE, p.SHE, p.WE, p.THEY)
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
        return p.Couple(dice.one_of(m.NAMES[:12]), dice.one_of(m.NAMES[12:]))
    return person(dice)


def gendered_subject(dice: Dice) -> p.Nominal:
    """Returns a subject that he, she, I, we or they can stand for."""
    while (chosen := subject(dice)).column == "n":
        pass
    return chosen


def described_person(dice: Dice) -> p.NounPhrase:
    """Returns a known person: the young doctor, my sister, three students."""
    kind = dice.one_of(_PERSONS)
    if kind is n.PEOPLE and dice.chance(0.25):
        return noun_phrase(dice, (kind,))
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
    if kind is n.RELATIVES or (kind is not n.PEOPLE and dice.chance(0.25)):
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
    owned = _definite(dice, kind) if kind is t.ROOMS else p.THE
    determiner = p.A if dice.chance(0.2) else owned
    return p.NounPhrase(dice.one_of(kind.nouns), determiner, adjective)


def tense(dice: Dice) -> Tense:
    """Returns present, past or a modal verb."""
    return dice.one_of(m.MODALS) if dice.chance(0.22) else simple_tense(dice)


def simple_tense(dice: Dice) -> Tense:
    """Returns present or past."""
    return "past" if dice.chance(0.4) else "present"


def action(
    dice: Dice, who: p.Nominal, when: Tense, *, negated: bool = False, willing: bool = False
) -> Clause:
    """Returns a clause about what somebody does, without a time; `willing` leaves out mishaps."""
    deliberate = willing or isinstance(when, Modal)
    build = dice.weighted(
        (
            (48, _act_on_purpose if deliberate else _act_on),
            (10, _act_with_dative),
            (10, _act_with_preposition),
            (12, _give),
            (10, _be_active),
            (5, _daily),
            (12, go),
        )
    )
    return build(dice, Clause(who, v.BE, tense=when, negated=negated))


def act_on(dice: Dice, clause: Clause, frame: v.Frame) -> Clause:
    """Returns the clause with a frame's verb and an object that suits it."""
    negated = clause.negated
    # A negated prepositional object stays definite: "nicht auf einen Bus" would stress one.
    if negated and frame.german_preposition:
        return with_object(clause, frame, known(dice, frame.objects))
    persons = all(kind in _PERSONS for kind in frame.objects)
    # English would split its particle: "picks him up".
    if persons and (" " not in frame.verb.english or frame.case == "dative"):
        nominal = person(dice, other=clause.subject)
        if not isinstance(nominal, p.NounPhrase):
            return with_object(clause, frame, nominal)
    return with_object(clause, frame, noun_phrase(dice, frame.objects, counted=not negated))


def with_object(clause: Clause, frame: v.Frame, nominal: p.Nominal) -> Clause:
    """Returns the clause with a frame's verb and this object."""
    if frame.german_preposition:
        joined = prepositional_complement(
            frame.english_preposition, frame.german_preposition, nominal, frame.case
        )
        return replace(clause, verb=frame.verb, complements=(joined,))
    return replace(
        clause,
        verb=frame.verb,
        complements=(object_complement(nominal, frame.case, negated=clause.negated),),
        negated_by_determiner=_takes_kein(nominal),
    )


def _takes_kein(nominal: p.Nominal) -> bool:
    return isinstance(nominal, p.NounPhrase) and nominal.is_indefinite


def _act_on(dice: Dice, clause: Clause) -> Clause:
    return act_on(dice, clause, dice.one_of(v.OBJECT_FRAMES))


def _act_on_purpose(dice: Dice, clause: Clause) -> Clause:
    return act_on(dice, clause, dice.one_of(v.WILLING_FRAMES))


def _act_with_dative(dice: Dice, clause: Clause) -> Clause:
    return act_on(dice, clause, dice.one_of(v.DATIVE_FRAMES))


def _act_with_preposition(dice: Dice, clause: Clause) -> Clause:
    return act_on(dice, clause, dice.one_of(v.PREPOSITION_FRAMES))


def _give(dice: Dice, clause: Clause) -> Clause:
    frame = dice.one_of(v.GIFT_FRAMES)
    receiver = person(dice, other=clause.subject)
    if isinstance(receiver, p.NounPhrase):
        receiver = known(dice, _PERSONS)
    gift = noun_phrase(dice, frame.objects, counted=not clause.negated)
    return replace(
        clause,
        verb=frame.verb,
        complements=(
            object_complement(receiver, "dative"),
            object_complement(gift, "accusative", negated=clause.negated),
        ),
        negated_by_determiner=gift.is_indefinite,
    )


def _be_active(dice: Dice, clause: Clause) -> Clause:
    where = in_place(dice) if dice.chance(0.6) else next_to(dice, (t.BUILDINGS,), m.SPATIAL[:3])
    return replace(clause, verb=dice.one_of(v.ACTIVITIES), complements=(where,))


def _daily(dice: Dice, clause: Clause) -> Clause:
    return replace(clause, verb=dice.one_of(v.DAILY), complements=())


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


def go(dice: Dice, clause: Clause) -> Clause:
    """Returns the clause with a verb of motion and where to."""
    if dice.chance(0.35):
        city = dice.one_of(m.CITIES)
        goal = Complement(f"to {city.english}", f"nach {city.german}", "prepositional")
        return replace(clause, verb=dice.one_of(v.JOURNEYS), complements=(goal,))
    if dice.chance(0.5):
        goal = prepositional_complement("to", "zu", place(dice, (t.BUILDINGS,)), "dative")
    else:
        inside = place(dice, (t.ROOMS, t.BUILDINGS, t.OUTDOORS))
        goal = prepositional_complement("into", "in", inside, "accusative")
    return replace(clause, verb=dice.one_of(v.MOTIONS), complements=(goal,))


def mood(dice: Dice, who: p.Nominal, when: Tense, *, negated: bool = False) -> Clause:
    """Returns a clause about how somebody feels."""
    feeling = predicate_complement(dice.one_of(m.MOODS))
    return Clause(who, v.BE, (feeling,), when, negated)


def property_of(dice: Dice, what: p.Nominal, kind: Kind, *, negated: bool = False) -> Clause:
    """Returns a clause about what something is like."""
    quality = predicate_complement(dice.one_of(kind.adjectives))
    return Clause(what, v.BE, (quality,), "present", negated)


def timed(dice: Dice, clause: Clause) -> Clause:
    """Returns the clause with a time that agrees with its tense."""
    daily: tuple[Verb, ...] = (*v.DAILY, *v.TIMETABLE, *v.PROGRAMME)
    if clause.verb in daily and dice.chance(0.5):
        return replace(clause, time=dice.one_of(m.CLOCK_TIMES))
    times = {"present": m.PRESENT_TIMES, "past": m.PAST_TIMES}
    choices = times.get(clause.tense, m.FUTURE_TIMES) if isinstance(clause.tense, str) else None
    return replace(clause, time=dice.one_of(choices or m.FUTURE_TIMES))


def perhaps_timed(dice: Dice, clause: Clause, probability: float) -> Clause:
    """Returns the clause, sometimes with a frequency or a time; negated clauses stay bare."""
    if clause.negated:
        return clause
    if clause.tense == "present" and dice.chance(0.15):
        return replace(clause, frequency=dice.one_of(m.FREQUENCIES))
    return timed(dice, clause) if dice.chance(probability) else clause
