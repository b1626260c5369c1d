"""What is said of them: fills clauses with verbs, objects, places and times."""

from __future__ import annotations

from dataclasses import replace

from pipeline.corpora.builtin import modifiers, participants, phrases, things, verbs
from pipeline.corpora.builtin.clauses import (
    Clause,
    Complement,
    Tense,
    object_complement,
    predicate_complement,
    prepositional_complement,
)
from pipeline.corpora.builtin.seeded_random import Dice
from pipeline.corpora.builtin.words import Kind, Modal, Verb


def tense(dice: Dice) -> Tense:
    """Returns present, past or a modal verb."""
    return dice.one_of(modifiers.MODALS) if dice.chance(0.22) else simple_tense(dice)


def simple_tense(dice: Dice) -> Tense:
    """Returns present or past."""
    return "past" if dice.chance(0.4) else "present"


def action(
    dice: Dice, who: phrases.Nominal, when: Tense, *, negated: bool = False, willing: bool = False
) -> Clause:
    """Returns a clause about what somebody does, without a time; `willing` leaves out mishaps."""
    deliberate = willing or isinstance(when, Modal)
    build = dice.weighted(
        (
            (56, _act_on_purpose if deliberate else _act_on),
            (10, _act_with_dative),
            (10, _act_with_preposition),
            (12, _give),
            (10, _be_active),
            (5, _daily),
            (12, go),
        )
    )
    return build(dice, Clause(who, verbs.BE, tense=when, negated=negated))


def act_on(dice: Dice, clause: Clause, frame: verbs.Frame) -> Clause:
    """Returns the clause with a frame's verb and an object that suits it."""
    negated = clause.negated
    # A negated prepositional object stays definite: "nicht auf einen Bus" would stress one.
    if negated and frame.german_preposition:
        return with_object(clause, frame, participants.known(dice, frame.objects))
    persons = all(kind in participants.PERSONS for kind in frame.objects)
    # English would split its particle: "picks him up".
    if persons and (" " not in frame.verb.english or frame.case == "dative"):
        nominal = participants.person(dice, other=clause.subject)
        if not isinstance(nominal, phrases.NounPhrase):
            return with_object(clause, frame, nominal)
    return with_object(
        clause, frame, participants.noun_phrase(dice, frame.objects, counted=not negated)
    )


def with_object(clause: Clause, frame: verbs.Frame, nominal: phrases.Nominal) -> Clause:
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


def _takes_kein(nominal: phrases.Nominal) -> bool:
    return isinstance(nominal, phrases.NounPhrase) and nominal.is_indefinite


def _act_on(dice: Dice, clause: Clause) -> Clause:
    return act_on(dice, clause, dice.one_of(verbs.OBJECT_FRAMES))


def _act_on_purpose(dice: Dice, clause: Clause) -> Clause:
    return act_on(dice, clause, dice.one_of(verbs.WILLING_FRAMES))


def _act_with_dative(dice: Dice, clause: Clause) -> Clause:
    return act_on(dice, clause, dice.one_of(verbs.DATIVE_FRAMES))


def _act_with_preposition(dice: Dice, clause: Clause) -> Clause:
    return act_on(dice, clause, dice.one_of(verbs.PREPOSITION_FRAMES))


def _give(dice: Dice, clause: Clause) -> Clause:
    frame = dice.one_of(verbs.GIFT_FRAMES)
    receiver = participants.person(dice, other=clause.subject)
    if isinstance(receiver, phrases.NounPhrase):
        receiver = participants.known(dice, participants.PERSONS)
    gift = participants.noun_phrase(dice, frame.objects, counted=not clause.negated)
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
    where = (
        participants.in_place(dice)
        if dice.chance(0.6)
        else participants.next_to(dice, (things.BUILDINGS,), modifiers.SPATIAL[:3])
    )
    return replace(clause, verb=dice.one_of(verbs.ACTIVITIES), complements=(where,))


def _daily(dice: Dice, clause: Clause) -> Clause:
    return replace(clause, verb=dice.one_of(verbs.DAILY), complements=())


def go(dice: Dice, clause: Clause) -> Clause:
    """Returns the clause with a verb of motion and where to."""
    if dice.chance(0.35):
        city = dice.one_of(modifiers.CITIES)
        goal = Complement(f"to {city.english}", f"nach {city.german}", "prepositional")
        return replace(clause, verb=dice.one_of(verbs.JOURNEYS), complements=(goal,))
    if dice.chance(0.5):
        goal = prepositional_complement(
            "to", "zu", participants.place(dice, (things.BUILDINGS,)), "dative"
        )
    else:
        inside = participants.place(dice, (things.ROOMS, things.BUILDINGS, things.OUTDOORS))
        goal = prepositional_complement("into", "in", inside, "accusative")
    return replace(clause, verb=dice.one_of(verbs.MOTIONS), complements=(goal,))


def mood(dice: Dice, who: phrases.Nominal, when: Tense, *, negated: bool = False) -> Clause:
    """Returns a clause about how somebody feels."""
    feeling = predicate_complement(dice.one_of(modifiers.MOODS))
    return Clause(who, verbs.BE, (feeling,), when, negated)


def property_of(dice: Dice, what: phrases.Nominal, kind: Kind, *, negated: bool = False) -> Clause:
    """Returns a clause about what something is like."""
    quality = predicate_complement(dice.one_of(kind.adjectives))
    return Clause(what, verbs.BE, (quality,), "present", negated)


def timed(dice: Dice, clause: Clause) -> Clause:
    """Returns the clause with a time that agrees with its tense."""
    daily: tuple[Verb, ...] = (*verbs.DAILY, *verbs.TIMETABLE, *verbs.PROGRAMME)
    if clause.verb in daily and dice.chance(0.5):
        return replace(clause, time=dice.one_of(modifiers.CLOCK_TIMES))
    if isinstance(clause.tense, Modal):
        return replace(clause, time=dice.one_of(modifiers.FUTURE_TIMES))
    past = clause.tense == "past"
    times = modifiers.PAST_TIMES if past else modifiers.PRESENT_TIMES
    return replace(clause, time=dice.one_of(times))


def perhaps_timed(dice: Dice, clause: Clause, probability: float) -> Clause:
    """Returns the clause, sometimes with a frequency or a time; negated clauses stay bare."""
    if clause.negated:
        return clause
    if clause.tense == "present" and dice.chance(0.15):
        return replace(clause, frequency=dice.one_of(modifiers.FREQUENCIES))
    return timed(dice, clause) if dice.chance(probability) else clause
