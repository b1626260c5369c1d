"""Templates of one clause: statements, negation, questions, prices, ages, places."""

from __future__ import annotations

from dataclasses import replace

from pipeline.corpora.builtin import actions, modifiers, nouns, participants, phrases, things, verbs
from pipeline.corpora.builtin.clauses import Clause, Complement, question, statement
from pipeline.corpora.builtin.seeded_random import Dice
from pipeline.corpora.builtin.words import Bilingual, Kind

THINGS: tuple[Kind, ...] = (
    *(
        nouns.CLOTHES,
        nouns.ACCESSORIES,
        things.VEHICLES,
        things.DEVICES,
        things.FURNITURE,
        things.CONTAINERS,
        things.READING,
    ),
    *(
        things.ROOMS,
        things.BUILDINGS,
        things.OPENINGS,
        things.EVENTS,
        nouns.FRUIT,
        nouns.VEGETABLES,
        nouns.BAKERY,
    ),
    *(nouns.WARM_DISHES, nouns.PETS, nouns.BIG_ANIMALS),
)
_PRICED = (
    nouns.CLOTHES,
    nouns.ACCESSORIES,
    things.DEVICES,
    things.FURNITURE,
    things.BELONGINGS,
    things.CONTAINERS,
    things.READING,
)
_PERSONS = {nouns.PEOPLE, nouns.RELATIVES}
# "What" and "which" ask for things, "whom" for people.
_PERSON_FRAMES = tuple(frame for frame in verbs.OBJECT_FRAMES if _PERSONS.issuperset(frame.objects))
_THING_FRAMES = tuple(frame for frame in verbs.OBJECT_FRAMES if _PERSONS.isdisjoint(frame.objects))


def tell(dice: Dice) -> Bilingual:
    """Who does what, often with a time, which stands first half of the times."""
    clause = actions.perhaps_timed(
        dice, actions.action(dice, participants.subject(dice), actions.tense(dice)), 0.6
    )
    return statement(clause, time_first=dice.chance(0.5))


def deny(dice: Dice) -> Bilingual:
    """The same with nicht or kein; a time stands first, clear of the scope of nicht."""
    clause = actions.action(dice, participants.subject(dice), actions.tense(dice), negated=True)
    if dice.chance(0.4):
        return statement(actions.timed(dice, clause), time_first=True)
    return statement(clause)


def ask_yes_or_no(dice: Dice) -> Bilingual:
    """A question with the German verb first."""
    return question(
        actions.perhaps_timed(
            dice, actions.action(dice, participants.subject(dice), actions.tense(dice)), 0.4
        )
    )


def ask_who(dice: Dice) -> Bilingual:
    """A question for the subject."""
    return statement(
        actions.perhaps_timed(dice, actions.action(dice, phrases.WHO, actions.tense(dice)), 0.5)
    )


def ask_whom(dice: Dice) -> Bilingual:
    """A question for a person as object: wen, or wem after verbs with the dative."""
    frame = dice.one_of((*_PERSON_FRAMES, *verbs.DATIVE_FRAMES))
    clause = Clause(participants.subject(dice), frame.verb, tense=actions.tense(dice))
    asked = Bilingual(phrases.WHO.english(subject=False), phrases.WHO.german(frame.case))
    return question(actions.perhaps_timed(dice, clause, 0.5), asked)


def ask_what(dice: Dice) -> Bilingual:
    """A question for a thing: what, which coat, how many apples."""
    frame = dice.one_of(_THING_FRAMES)
    clause = Clause(participants.subject(dice), frame.verb, tense=actions.tense(dice))
    asked = Bilingual("what", "was")
    if dice.chance(0.7):
        thing = participants.known(dice, frame.objects)
        counted = thing.plural and dice.chance(0.6)
        thing = replace(thing, determiner=phrases.HOW_MANY if counted else phrases.WHICH)
        asked = Bilingual(thing.english(), thing.german(frame.case))
    return question(actions.perhaps_timed(dice, clause, 0.4), asked)


def ask_where(dice: Dice) -> Bilingual:
    """A question for the place of an activity."""
    clause = Clause(
        participants.subject(dice), dice.one_of(verbs.ACTIVITIES), tense=actions.tense(dice)
    )
    return question(actions.perhaps_timed(dice, clause, 0.7), Bilingual("where", "wo"))


def ask_when_or_why(dice: Dice) -> Bilingual:
    """A question for the time or the reason."""
    clause = actions.action(dice, participants.subject(dice), actions.tense(dice))
    return question(clause, dice.one_of((Bilingual("when", "wann"), Bilingual("why", "warum"))))


def feel(dice: Dice) -> Bilingual:
    """How somebody feels or does not feel."""
    who, when = participants.subject(dice), actions.simple_tense(dice)
    clause = actions.mood(dice, who, when, negated=dice.chance(0.25))
    return statement(actions.perhaps_timed(dice, clause, 0.7), time_first=dice.chance(0.5))


def ask_feeling(dice: Dice) -> Bilingual:
    """Whether somebody feels so."""
    clause = actions.mood(dice, participants.subject(dice), actions.simple_tense(dice))
    return question(actions.perhaps_timed(dice, clause, 0.5))


def describe(dice: Dice) -> Bilingual:
    """What something is like."""
    kind = dice.one_of(THINGS)
    what = participants.known(dice, (kind,), plain=True)
    return statement(actions.property_of(dice, what, kind, negated=dice.chance(0.3)))


def tell_price(dice: Dice) -> Bilingual:
    """What something costs; the number stays as it is."""
    price = dice.one_of(modifiers.PRICES)
    amount = Complement(f"{price} euros", f"{price} Euro", "object")
    return statement(Clause(participants.known(dice, _PRICED), verbs.COST, (amount,)))


def tell_age(dice: Dice) -> Bilingual:
    """How old somebody is."""
    number = dice.one_of(modifiers.NUMBERS)
    age = Complement(f"{number.english} years old", f"{number.german} Jahre alt", "prepositional")
    pet = participants.known(dice, (nouns.PETS,), plain=True)
    who: phrases.Nominal = phrases.Person(dice.one_of(modifiers.NAMES)) if dice.chance(0.5) else pet
    return statement(Clause(who, verbs.BE, (age,), actions.simple_tense(dice)))


def tell_schedule(dice: Dice) -> Bilingual:
    """When a train leaves or a concert begins."""
    return statement(actions.timed(dice, _schedule(dice)), time_first=dice.chance(0.4))


def ask_schedule(dice: Dice) -> Bilingual:
    """When, or whether then, a train leaves or a concert begins."""
    if dice.chance(0.4):
        return question(_schedule(dice), Bilingual("when", "wann"))
    return question(actions.timed(dice, _schedule(dice)))


def _schedule(dice: Dice) -> Clause:
    travelling = dice.chance(0.6)
    kinds, choices = (
        ((things.TRAINS,), verbs.TIMETABLE) if travelling else ((things.EVENTS,), verbs.PROGRAMME)
    )
    return Clause(participants.known(dice, kinds), dice.one_of(choices), tense=actions.tense(dice))


def locate(dice: Dice) -> Bilingual:
    """Where a thing lies or a pet sleeps."""
    return statement(_location(dice))


def ask_location(dice: Dice) -> Bilingual:
    """Whether a thing lies, or a pet sleeps, there."""
    return question(_location(dice))


def _location(dice: Dice) -> Clause:
    where = participants.next_to(dice, (things.FURNITURE,), modifiers.SPATIAL)
    if dice.chance(0.3):
        sleeper = participants.known(dice, (nouns.PETS,))
        return Clause(sleeper, verbs.SLEEP, (where,), actions.simple_tense(dice))
    thing = participants.known(dice, (things.BELONGINGS, things.CONTAINERS))
    return Clause(thing, verbs.LIE, (where,), actions.simple_tense(dice))
