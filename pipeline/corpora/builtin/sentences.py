"""Templates with one clause: statements, negation, questions, prices, ages, places."""

from dataclasses import replace

from pipeline.corpora.builtin import actions, participants, phrases
from pipeline.corpora.builtin.clauses import Clause, Complement, question, statement
from pipeline.corpora.builtin.lexicon import lexicon
from pipeline.corpora.builtin.seeded_random import SeededRandom
from pipeline.corpora.builtin.words import BE, Bilingual

_PRICES = (12, 15, 18, 20, 25, 30, 35, 40, 45, 50, 60, 65, 70, 80, 90, 99)


def tell(rng: SeededRandom) -> Bilingual:
    """An action, often with a time, which comes first in half of the cases."""
    clause = actions.perhaps_timed(
        rng, actions.action(rng, participants.subject(rng), actions.tense(rng)), 0.6
    )
    return statement(clause, time_first=rng.chance(0.5))


def deny(rng: SeededRandom) -> Bilingual:
    """The same negated; a time comes first, outside the scope of nicht."""
    clause = actions.action(rng, participants.subject(rng), actions.tense(rng), negated=True)
    if rng.chance(0.4):
        return statement(actions.timed(rng, clause), time_first=True)
    return statement(clause)


def ask_yes_or_no(rng: SeededRandom) -> Bilingual:
    """A question with the German verb first."""
    return question(
        actions.perhaps_timed(
            rng, actions.action(rng, participants.subject(rng), actions.tense(rng)), 0.4
        )
    )


def ask_who(rng: SeededRandom) -> Bilingual:
    """A question for the subject."""
    return statement(
        actions.perhaps_timed(rng, actions.action(rng, phrases.WHO, actions.tense(rng)), 0.5)
    )


def ask_whom(rng: SeededRandom) -> Bilingual:
    """A question for a person as object: wen, or wem after verbs with the dative."""
    frame = rng.choice((*lexicon().frames["whom"], *lexicon().frames["dative"]))
    clause = Clause(participants.subject(rng), frame.verb, tense=actions.tense(rng))
    asked = Bilingual(phrases.WHO.english(subject=False), phrases.WHO.german(frame.case))
    return question(actions.perhaps_timed(rng, clause, 0.5), asked)


def ask_what(rng: SeededRandom) -> Bilingual:
    """A question for a thing: what, which coat, how many apples."""
    frame = rng.choice(lexicon().frames["what"])
    clause = Clause(participants.subject(rng), frame.verb, tense=actions.tense(rng))
    asked = Bilingual("what", "was")
    if rng.chance(0.7):
        thing = participants.known(rng, frame.objects)
        counted = thing.plural and rng.chance(0.6)
        thing = replace(thing, determiner=phrases.HOW_MANY if counted else phrases.WHICH)
        asked = Bilingual(thing.english(), thing.german(frame.case))
    return question(actions.perhaps_timed(rng, clause, 0.4), asked)


def ask_where(rng: SeededRandom) -> Bilingual:
    """A question for the place of an activity."""
    clause = Clause(
        participants.subject(rng), rng.choice(lexicon().verbs["activity"]), tense=actions.tense(rng)
    )
    return question(actions.perhaps_timed(rng, clause, 0.7), Bilingual("where", "wo"))


def ask_when_or_why(rng: SeededRandom) -> Bilingual:
    """A question for the time or the reason."""
    clause = actions.action(rng, participants.subject(rng), actions.tense(rng))
    return question(clause, rng.choice((Bilingual("when", "wann"), Bilingual("why", "warum"))))


def feel(rng: SeededRandom) -> Bilingual:
    """Somebody's mood."""
    who, when = participants.subject(rng), actions.simple_tense(rng)
    clause = actions.mood(rng, who, when, negated=rng.chance(0.25))
    return statement(actions.perhaps_timed(rng, clause, 0.7), time_first=rng.chance(0.5))


def ask_feeling(rng: SeededRandom) -> Bilingual:
    """The same as a question."""
    clause = actions.mood(rng, participants.subject(rng), actions.simple_tense(rng))
    return question(actions.perhaps_timed(rng, clause, 0.5))


def describe(rng: SeededRandom) -> Bilingual:
    """A property of something."""
    kind = rng.choice(lexicon().kinds["things"])
    what = participants.known(rng, (kind,), plain=True)
    return statement(actions.property_of(rng, what, kind, negated=rng.chance(0.3)))


def tell_price(rng: SeededRandom) -> Bilingual:
    """A price; the number is the same in both languages."""
    price = rng.choice(_PRICES)
    amount = Complement(f"{price} euros", f"{price} Euro", "object")
    return statement(
        Clause(
            participants.known(rng, lexicon().kinds["priced"]), lexicon().verb("cost"), (amount,)
        )
    )


def tell_age(rng: SeededRandom) -> Bilingual:
    """An age."""
    number = rng.choice(lexicon().texts["number"])
    age = Complement(f"{number.english} years old", f"{number.german} Jahre alt", "prepositional")
    pet = participants.known(rng, lexicon().kinds["pets"], plain=True)
    who: phrases.Nominal = phrases.Person(rng.choice(lexicon().names)) if rng.chance(0.5) else pet
    return statement(Clause(who, BE, (age,), actions.simple_tense(rng)))


def tell_schedule(rng: SeededRandom) -> Bilingual:
    """The departure of a train or the beginning of an event."""
    return statement(actions.timed(rng, _schedule(rng)), time_first=rng.chance(0.4))


def ask_schedule(rng: SeededRandom) -> Bilingual:
    """The same as a question."""
    if rng.chance(0.4):
        return question(_schedule(rng), Bilingual("when", "wann"))
    return question(actions.timed(rng, _schedule(rng)))


def _schedule(rng: SeededRandom) -> Clause:
    travelling = rng.chance(0.6)
    kinds, choices = (
        (lexicon().kinds["trains"], lexicon().verbs["timetable"])
        if travelling
        else (lexicon().kinds["events"], lexicon().verbs["programme"])
    )
    return Clause(participants.known(rng, kinds), rng.choice(choices), tense=actions.tense(rng))


def locate(rng: SeededRandom) -> Bilingual:
    """The place of a thing or of a sleeping pet."""
    return statement(_location(rng))


def ask_location(rng: SeededRandom) -> Bilingual:
    """The same as a question."""
    return question(_location(rng))


def _location(rng: SeededRandom) -> Clause:
    where = participants.next_to(rng, lexicon().kinds["furniture"], lexicon().texts["position"])
    if rng.chance(0.3):
        sleeper = participants.known(rng, lexicon().kinds["pets"])
        return Clause(sleeper, lexicon().verb("rest"), (where,), actions.simple_tense(rng))
    thing = participants.known(rng, lexicon().kinds["hand_sized"])
    return Clause(thing, lexicon().verb("lie"), (where,), actions.simple_tense(rng))
