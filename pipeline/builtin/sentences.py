"""Templates of one clause: statements, negation, questions, prices, ages, places."""

from __future__ import annotations

from dataclasses import replace

from pipeline.builtin import actions as a
from pipeline.builtin import modifiers as m
from pipeline.builtin import nouns as n
from pipeline.builtin import participants as w
from pipeline.builtin import phrases as p
from pipeline.builtin import things as t
from pipeline.builtin import verbs as v
from pipeline.builtin.clauses import (
    Clause,
    Complement,
    question,
    statement,
)
from pipeline.builtin.dice import Dice
from pipeline.builtin.words import Bilingual, Kind

THINGS: tuple[Kind, ...] = (
    *(n.CLOTHES, n.ACCESSORIES, t.VEHICLES, t.DEVICES, t.FURNITURE, t.CONTAINERS, t.READING),
    *(t.ROOMS, t.BUILDINGS, t.OPENINGS, t.EVENTS, n.FRUIT, n.VEGETABLES, n.BAKERY),
    *(n.WARM_DISHES, n.PETS, n.BIG_ANIMALS),
)
_PRICED = (n.CLOTHES, n.ACCESSORIES, t.DEVICES, t.FURNITURE, t.BELONGINGS, t.CONTAINERS, t.READING)
_PERSONS = {n.PEOPLE, n.RELATIVES}
# "What" and "which" ask for things, "whom" for people.
_PERSON_FRAMES = tuple(frame for frame in v.OBJECT_FRAMES if _PERSONS.issuperset(frame.objects))
_THING_FRAMES = tuple(frame for frame in v.OBJECT_FRAMES if _PERSONS.isdisjoint(frame.objects))


def tell(dice: Dice) -> Bilingual:
    """Who does what, often with a time, which stands first half of the times."""
    clause = a.perhaps_timed(dice, a.action(dice, w.subject(dice), a.tense(dice)), 0.6)
    return statement(clause, time_first=dice.chance(0.5))


def deny(dice: Dice) -> Bilingual:
    """The same with nicht or kein; a time stands first, clear of the scope of nicht."""
    clause = a.action(dice, w.subject(dice), a.tense(dice), negated=True)
    if dice.chance(0.4):
        return statement(a.timed(dice, clause), time_first=True)
    return statement(clause)


def ask_yes_or_no(dice: Dice) -> Bilingual:
    """A question with the German verb first."""
    return question(a.perhaps_timed(dice, a.action(dice, w.subject(dice), a.tense(dice)), 0.4))


def ask_who(dice: Dice) -> Bilingual:
    """A question for the subject."""
    return statement(a.perhaps_timed(dice, a.action(dice, p.WHO, a.tense(dice)), 0.5))


def ask_whom(dice: Dice) -> Bilingual:
    """A question for a person as object: wen, or wem after verbs with the dative."""
    frame = dice.one_of((*_PERSON_FRAMES, *v.DATIVE_FRAMES))
    clause = Clause(w.subject(dice), frame.verb, tense=a.tense(dice))
    asked = Bilingual(p.WHO.english(subject=False), p.WHO.german(frame.case))
    return question(a.perhaps_timed(dice, clause, 0.5), asked)


def ask_what(dice: Dice) -> Bilingual:
    """A question for a thing: what, which coat, how many apples."""
    frame = dice.one_of(_THING_FRAMES)
    clause = Clause(w.subject(dice), frame.verb, tense=a.tense(dice))
    asked = Bilingual("what", "was")
    if dice.chance(0.7):
        thing = w.known(dice, frame.objects)
        counted = thing.plural and dice.chance(0.6)
        thing = replace(thing, determiner=p.HOW_MANY if counted else p.WHICH)
        asked = Bilingual(thing.english(), thing.german(frame.case))
    return question(a.perhaps_timed(dice, clause, 0.4), asked)


def ask_where(dice: Dice) -> Bilingual:
    """A question for the place of an activity."""
    clause = Clause(w.subject(dice), dice.one_of(v.ACTIVITIES), tense=a.tense(dice))
    return question(a.perhaps_timed(dice, clause, 0.7), Bilingual("where", "wo"))


def ask_when_or_why(dice: Dice) -> Bilingual:
    """A question for the time or the reason."""
    clause = a.action(dice, w.subject(dice), a.tense(dice))
    return question(clause, dice.one_of((Bilingual("when", "wann"), Bilingual("why", "warum"))))


def feel(dice: Dice) -> Bilingual:
    """How somebody feels or does not feel."""
    who, when = w.subject(dice), a.simple_tense(dice)
    clause = a.mood(dice, who, when, negated=dice.chance(0.25))
    return statement(a.perhaps_timed(dice, clause, 0.7), time_first=dice.chance(0.5))


def ask_feeling(dice: Dice) -> Bilingual:
    """Whether somebody feels so."""
    clause = a.mood(dice, w.subject(dice), a.simple_tense(dice))
    return question(a.perhaps_timed(dice, clause, 0.5))


def describe(dice: Dice) -> Bilingual:
    """What something is like."""
    kind = dice.one_of(THINGS)
    what = w.known(dice, (kind,), plain=True)
    return statement(a.property_of(dice, what, kind, negated=dice.chance(0.3)))


def tell_price(dice: Dice) -> Bilingual:
    """What something costs; the number stays as it is."""
    price = dice.one_of(m.PRICES)
    amount = Complement(f"{price} euros", f"{price} Euro", "object")
    return statement(Clause(w.known(dice, _PRICED), v.COST, (amount,)))


def tell_age(dice: Dice) -> Bilingual:
    """How old somebody is."""
    number = dice.one_of(m.NUMBERS)
    age = Complement(f"{number.english} years old", f"{number.german} Jahre alt", "prepositional")
    pet = w.known(dice, (n.PETS,), plain=True)
    who: p.Nominal = p.Person(dice.one_of(m.NAMES)) if dice.chance(0.5) else pet
    return statement(Clause(who, v.BE, (age,), a.simple_tense(dice)))


def tell_schedule(dice: Dice) -> Bilingual:
    """When a train leaves or a concert begins."""
    return statement(a.timed(dice, _schedule(dice)), time_first=dice.chance(0.4))


def ask_schedule(dice: Dice) -> Bilingual:
    """When, or whether then, a train leaves or a concert begins."""
    if dice.chance(0.4):
        return question(_schedule(dice), Bilingual("when", "wann"))
    return question(a.timed(dice, _schedule(dice)))


def _schedule(dice: Dice) -> Clause:
    travelling = dice.chance(0.6)
    kinds, verbs = ((t.TRAINS,), v.TIMETABLE) if travelling else ((t.EVENTS,), v.PROGRAMME)
    return Clause(w.known(dice, kinds), dice.one_of(verbs), tense=a.tense(dice))


def locate(dice: Dice) -> Bilingual:
    """Where a thing lies or a pet sleeps."""
    return statement(_location(dice))


def ask_location(dice: Dice) -> Bilingual:
    """Whether a thing lies, or a pet sleeps, there."""
    return question(_location(dice))


def _location(dice: Dice) -> Clause:
    where = w.next_to(dice, (t.FURNITURE,), m.SPATIAL)
    if dice.chance(0.3):
        sleeper = w.known(dice, (n.PETS,))
        return Clause(sleeper, v.SLEEP, (where,), a.simple_tense(dice))
    things = w.known(dice, (t.BELONGINGS, t.CONTAINERS))
    return Clause(things, v.LIE, (where,), a.simple_tense(dice))
