"""Templates of several clauses: subordinate, relative, infinitive and joined ones."""

from __future__ import annotations

from dataclasses import replace

from pipeline.builtin import actions as a
from pipeline.builtin import modifiers as m
from pipeline.builtin import nouns as n
from pipeline.builtin import participants as w
from pipeline.builtin import phrases as p
from pipeline.builtin import verbs as v
from pipeline.builtin.clauses import (
    Clause,
    Tense,
    inverted,
    purpose,
    statement,
    subordinate,
)
from pipeline.builtin.dice import Dice
from pipeline.builtin.words import Bilingual

ALTHOUGH = Bilingual("although", "obwohl")
BECAUSE = Bilingual("because", "weil")
BEFORE = Bilingual("before", "bevor")
IF = Bilingual("if", "wenn")
THAT = Bilingual("that", "dass")
WHERE = Bilingual("where", "wo")
WHETHER = Bilingual("whether", "ob")
WHILE = Bilingual("while", "während")

_VALUED_FRAMES = tuple(
    frame
    for frame in v.OBJECT_FRAMES
    if frame.verb.english in ("buy", "sell", "need", "wear", "look at", "wash", "order", "eat")
)
_PERSON_FRAMES = tuple(
    frame
    for frame in v.OBJECT_FRAMES
    if frame.verb.english in ("call", "invite", "know", "meet", "see", "visit")
)


def give_reason(dice: Dice) -> Bilingual:
    """Somebody does something because of how he or she feels, or does it in spite of that."""
    who, when = w.gendered_subject(dice), a.simple_tense(dice)
    main = statement(a.action(dice, who, when, negated=dice.chance(0.3), willing=True))
    negated = dice.chance(0.25)
    clause = a.mood(dice, p.person_pronoun(who), when, negated=negated)
    return _after(main, subordinate(clause, dice.one_of((BECAUSE, BECAUSE, ALTHOUGH))))


def concede(dice: Dice) -> Bilingual:
    """Although somebody feels so, … : the German main clause starts with its verb."""
    who, when = w.gendered_subject(dice), a.simple_tense(dice)
    opening = subordinate(a.mood(dice, who, when), dice.one_of((ALTHOUGH, BECAUSE)))
    main = a.action(dice, p.person_pronoun(who), when, negated=dice.chance(0.4), willing=True)
    return _before(opening, inverted(main))


def value(dice: Dice) -> Bilingual:
    """Something is bought because it is good: "it" takes its noun's gender in German."""
    frame = dice.one_of(_VALUED_FRAMES)
    kind = dice.one_of(frame.objects)
    thing = w.known(dice, (kind,), plain=True)
    clause = Clause(w.subject(dice), frame.verb, tense="present", negated=dice.chance(0.2))
    main = statement(a.with_object(clause, frame, thing))
    quality = a.property_of(
        dice, p.thing_pronoun(thing), kind, negated=clause.negated and dice.chance(0.5)
    )
    return _after(main, subordinate(quality, BECAUSE))


def report(dice: Dice) -> Bilingual:
    """Somebody says that somebody does something."""
    clause = a.perhaps_timed(dice, a.action(dice, w.subject(dice), a.tense(dice)), 0.3)
    if dice.chance(0.25):
        clause = a.action(dice, w.subject(dice), a.tense(dice), negated=True)
    main = statement(Clause(w.subject(dice), dice.one_of(v.STATEMENTS)))
    return _after(main, subordinate(clause, THAT))


def wonder(dice: Dice) -> Bilingual:
    """Somebody asks, or does not know, whether or where somebody does it."""
    who = w.subject(dice)
    asks = Clause(who, v.ASK) if dice.chance(0.5) else Clause(who, v.KNOW_THAT, negated=True)
    clause = a.action(dice, w.subject(dice), a.tense(dice))
    if dice.chance(0.3):
        activity = Clause(w.subject(dice), dice.one_of(v.ACTIVITIES), tense=a.tense(dice))
        return _after(statement(asks), subordinate(a.perhaps_timed(dice, activity, 0.3), WHERE))
    return _after(statement(asks), subordinate(a.perhaps_timed(dice, clause, 0.2), WHETHER))


def depend_on_weather(dice: Dice) -> Bilingual:
    """If it rains, …, or the other way round."""
    weather = dice.one_of(m.WEATHER)
    # The weather is told in the present, and so is what depends on it.
    when: Tense = dice.one_of(m.MODALS) if dice.chance(0.35) else "present"
    action = a.action(dice, w.subject(dice), when, negated=dice.chance(0.25), willing=True)
    joined = dice.one_of((IF, IF, BECAUSE, ALTHOUGH))
    clause = Bilingual(f"{joined.english} {weather.english}", f"{joined.german} {weather.german}")
    if dice.chance(0.65):
        return _before(clause, inverted(action))
    return _after(statement(action), clause)


def order_in_time(dice: Dice) -> Bilingual:
    """Somebody does something before doing something else, or while others do."""
    who, when = w.gendered_subject(dice), a.simple_tense(dice)
    main = statement(a.action(dice, who, when, willing=True))
    if dice.chance(0.5):
        return _after(
            main, subordinate(a.go(dice, Clause(p.person_pronoun(who), v.BE, (), when)), BEFORE)
        )
    return _after(main, subordinate(a.action(dice, w.subject(dice), when, willing=True), WHILE))


def tell_of_subject(dice: Dice) -> Bilingual:
    """The man who …, …: German puts a comma on both sides of the relative clause."""
    who = replace(w.known(dice, (n.PEOPLE,)), determiner=p.THE)
    relative = p.relative_pronoun(who, person=True)
    said = a.perhaps_timed(dice, a.action(dice, relative, a.tense(dice)), 0.15)
    if dice.chance(0.6):
        return _inside(a.mood(dice, who, "present"), subordinate(said))
    return _inside(a.action(dice, who, a.simple_tense(dice)), subordinate(said))


def tell_of_object(dice: Dice) -> Bilingual:
    """The coat that the woman buys is new: the relative pronoun is an object."""
    frame = dice.one_of((*_VALUED_FRAMES, *_VALUED_FRAMES, *v.DATIVE_FRAMES[2:5]))
    kind = dice.one_of(frame.objects)
    what = replace(w.known(dice, (kind,), plain=True), determiner=p.THE)
    persons = kind in (n.PEOPLE, n.RELATIVES)
    pronoun = p.relative_pronoun(what, person=persons)
    said = subordinate(Clause(w.subject(dice), frame.verb, tense=a.simple_tense(dice)))
    relative = Bilingual(
        f"{pronoun.english(subject=False)} {said.english}",
        f"{pronoun.german(frame.case)} {said.german}",
    )
    main = a.mood(dice, what, "present") if persons else a.property_of(dice, what, kind)
    return _inside(main, relative)


def know_somebody(dice: Dice) -> Bilingual:
    """Somebody knows the man who …: the relative clause comes last."""
    frame = dice.one_of((*_PERSON_FRAMES, *v.DATIVE_FRAMES, *v.PREPOSITION_FRAMES[:1]))
    known = replace(w.known(dice, (n.PEOPLE,)), determiner=p.THE)
    main = statement(a.with_object(Clause(w.subject(dice), frame.verb), frame, known))
    relative = p.relative_pronoun(known, person=True)
    said = subordinate(a.action(dice, relative, a.tense(dice)))
    return Bilingual(f"{main.english} {said.english}", f"{main.german}, {said.german}")


def have_purpose(dice: Dice) -> Bilingual:
    """Somebody goes somewhere in order to do something."""
    who = w.subject(dice)
    main = a.go(dice, Clause(who, v.BE, (), a.tense(dice)))
    aim = a.act_on(dice, Clause(who, v.BE), dice.one_of(v.ERRANDS))
    return _after(statement(main), purpose(aim))


def join(dice: Dice) -> Bilingual:
    """Two people do two things, or one does and the other does not."""
    when = a.simple_tense(dice)
    contrary = dice.chance(0.5)
    first = statement(a.action(dice, w.subject(dice), when))
    second = statement(a.action(dice, w.subject(dice), when, negated=contrary))
    if contrary:
        return Bilingual(
            f"{first.english}, but {second.english}", f"{first.german}, aber {second.german}"
        )
    return Bilingual(f"{first.english} and {second.english}", f"{first.german} und {second.german}")


def _after(main: Bilingual, clause: Bilingual) -> Bilingual:
    """Adds a clause at the end, which only German sets off by a comma."""
    return Bilingual(f"{main.english} {clause.english}", f"{main.german}, {clause.german}")


def _before(clause: Bilingual, main: Bilingual) -> Bilingual:
    """Puts a clause in front, which both languages set off by a comma."""
    return Bilingual(f"{clause.english}, {main.english}", f"{clause.german}, {main.german}")


def _inside(clause: Clause, relative: Bilingual) -> Bilingual:
    """Puts a relative clause behind the subject of the main clause."""
    told = statement(clause)
    english_subject = clause.subject.english(subject=True)
    german_subject = clause.subject.german("nominative")
    return Bilingual(
        f"{english_subject} {relative.english}{told.english.removeprefix(english_subject)}",
        f"{german_subject}, {relative.german},{told.german.removeprefix(german_subject)}",
    )
