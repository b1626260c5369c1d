"""Templates of several clauses: subordinate, relative, infinitive and joined ones."""

from __future__ import annotations

from dataclasses import replace

from pipeline.corpora.builtin import actions, modifiers, nouns, participants, phrases, verbs
from pipeline.corpora.builtin.clauses import (
    Clause,
    Tense,
    inverted,
    purpose,
    statement,
    subordinate,
)
from pipeline.corpora.builtin.seeded_random import Dice
from pipeline.corpora.builtin.words import Bilingual

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
    for frame in verbs.OBJECT_FRAMES
    if frame.verb.english in ("buy", "sell", "need", "wear", "look at", "wash", "order", "eat")
)
_PERSON_FRAMES = tuple(
    frame
    for frame in verbs.OBJECT_FRAMES
    if frame.verb.english in ("call", "invite", "know", "meet", "see", "visit")
)


def give_reason(dice: Dice) -> Bilingual:
    """Somebody does something because of how he or she feels, or does it in spite of that."""
    who, when = participants.gendered_subject(dice), actions.simple_tense(dice)
    main = statement(actions.action(dice, who, when, negated=dice.chance(0.3), willing=True))
    negated = dice.chance(0.25)
    clause = actions.mood(dice, phrases.person_pronoun(who), when, negated=negated)
    return _after(main, subordinate(clause, dice.one_of((BECAUSE, BECAUSE, ALTHOUGH))))


def concede(dice: Dice) -> Bilingual:
    """Although somebody feels so, … : the German main clause starts with its verb."""
    who, when = participants.gendered_subject(dice), actions.simple_tense(dice)
    opening = subordinate(actions.mood(dice, who, when), dice.one_of((ALTHOUGH, BECAUSE)))
    main = actions.action(
        dice, phrases.person_pronoun(who), when, negated=dice.chance(0.4), willing=True
    )
    return _before(opening, inverted(main))


def value(dice: Dice) -> Bilingual:
    """Something is bought because it is good: "it" takes its noun's gender in German."""
    frame = dice.one_of(_VALUED_FRAMES)
    kind = dice.one_of(frame.objects)
    thing = participants.known(dice, (kind,), plain=True)
    clause = Clause(
        participants.subject(dice), frame.verb, tense="present", negated=dice.chance(0.2)
    )
    main = statement(actions.with_object(clause, frame, thing))
    quality = actions.property_of(
        dice, phrases.thing_pronoun(thing), kind, negated=clause.negated and dice.chance(0.5)
    )
    return _after(main, subordinate(quality, BECAUSE))


def report(dice: Dice) -> Bilingual:
    """Somebody says that somebody does something."""
    clause = actions.perhaps_timed(
        dice, actions.action(dice, participants.subject(dice), actions.tense(dice)), 0.3
    )
    if dice.chance(0.25):
        clause = actions.action(dice, participants.subject(dice), actions.tense(dice), negated=True)
    main = statement(Clause(participants.subject(dice), dice.one_of(verbs.STATEMENTS)))
    return _after(main, subordinate(clause, THAT))


def wonder(dice: Dice) -> Bilingual:
    """Somebody asks, or does not know, whether or where somebody does it."""
    who = participants.subject(dice)
    asks = (
        Clause(who, verbs.ASK) if dice.chance(0.5) else Clause(who, verbs.KNOW_THAT, negated=True)
    )
    clause = actions.action(dice, participants.subject(dice), actions.tense(dice))
    if dice.chance(0.3):
        activity = Clause(
            participants.subject(dice), dice.one_of(verbs.ACTIVITIES), tense=actions.tense(dice)
        )
        return _after(
            statement(asks), subordinate(actions.perhaps_timed(dice, activity, 0.3), WHERE)
        )
    return _after(statement(asks), subordinate(actions.perhaps_timed(dice, clause, 0.2), WHETHER))


def depend_on_weather(dice: Dice) -> Bilingual:
    """If it rains, …, or the other way round."""
    weather = dice.one_of(modifiers.WEATHER)
    # The weather is told in the present, and so is what depends on it.
    when: Tense = dice.one_of(modifiers.MODALS) if dice.chance(0.35) else "present"
    action = actions.action(
        dice, participants.subject(dice), when, negated=dice.chance(0.25), willing=True
    )
    joined = dice.one_of((IF, IF, BECAUSE, ALTHOUGH))
    clause = Bilingual(f"{joined.english} {weather.english}", f"{joined.german} {weather.german}")
    if dice.chance(0.65):
        return _before(clause, inverted(action))
    return _after(statement(action), clause)


def order_in_time(dice: Dice) -> Bilingual:
    """Somebody does something before doing something else, or while others do."""
    who, when = participants.gendered_subject(dice), actions.simple_tense(dice)
    main = statement(actions.action(dice, who, when, willing=True))
    if dice.chance(0.5):
        return _after(
            main,
            subordinate(
                actions.go(dice, Clause(phrases.person_pronoun(who), verbs.BE, (), when)), BEFORE
            ),
        )
    return _after(
        main,
        subordinate(actions.action(dice, participants.subject(dice), when, willing=True), WHILE),
    )


def tell_of_subject(dice: Dice) -> Bilingual:
    """The man who …, …: German puts a comma on both sides of the relative clause."""
    who = replace(participants.known(dice, (nouns.PEOPLE,)), determiner=phrases.THE)
    relative = phrases.relative_pronoun(who, person=True)
    said = actions.perhaps_timed(dice, actions.action(dice, relative, actions.tense(dice)), 0.15)
    if dice.chance(0.6):
        return _inside(actions.mood(dice, who, "present"), subordinate(said))
    return _inside(actions.action(dice, who, actions.simple_tense(dice)), subordinate(said))


def tell_of_object(dice: Dice) -> Bilingual:
    """The coat that the woman buys is new: the relative pronoun is an object."""
    frame = dice.one_of((*_VALUED_FRAMES, *_VALUED_FRAMES, *verbs.DATIVE_FRAMES[2:5]))
    kind = dice.one_of(frame.objects)
    what = replace(participants.known(dice, (kind,), plain=True), determiner=phrases.THE)
    persons = kind in (nouns.PEOPLE, nouns.RELATIVES)
    pronoun = phrases.relative_pronoun(what, person=persons)
    said = subordinate(
        Clause(participants.subject(dice), frame.verb, tense=actions.simple_tense(dice))
    )
    relative = Bilingual(
        f"{pronoun.english(subject=False)} {said.english}",
        f"{pronoun.german(frame.case)} {said.german}",
    )
    main = actions.mood(dice, what, "present") if persons else actions.property_of(dice, what, kind)
    return _inside(main, relative)


def know_somebody(dice: Dice) -> Bilingual:
    """Somebody knows the man who …: the relative clause comes last."""
    frame = dice.one_of((*_PERSON_FRAMES, *verbs.DATIVE_FRAMES, *verbs.PREPOSITION_FRAMES[:1]))
    known = replace(participants.known(dice, (nouns.PEOPLE,)), determiner=phrases.THE)
    main = statement(
        actions.with_object(Clause(participants.subject(dice), frame.verb), frame, known)
    )
    relative = phrases.relative_pronoun(known, person=True)
    said = subordinate(actions.action(dice, relative, actions.tense(dice)))
    return Bilingual(f"{main.english} {said.english}", f"{main.german}, {said.german}")


def have_purpose(dice: Dice) -> Bilingual:
    """Somebody goes somewhere in order to do something."""
    who = participants.subject(dice)
    main = actions.go(dice, Clause(who, verbs.BE, (), actions.tense(dice)))
    aim = actions.act_on(dice, Clause(who, verbs.BE), dice.one_of(verbs.ERRANDS))
    return _after(statement(main), purpose(aim))


def join(dice: Dice) -> Bilingual:
    """Two people do two things, or one does and the other does not."""
    when = actions.simple_tense(dice)
    contrary = dice.chance(0.5)
    first = statement(actions.action(dice, participants.subject(dice), when))
    second = statement(actions.action(dice, participants.subject(dice), when, negated=contrary))
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
