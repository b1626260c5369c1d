"""Actions: clauses filled with verbs, objects, places and times."""

from dataclasses import replace

from pipeline.corpora.builtin import participants, phrases
from pipeline.corpora.builtin.clauses import (
    Clause,
    Complement,
    Tense,
    object_complement,
    predicate_complement,
    prepositional_complement,
)
from pipeline.corpora.builtin.lexicon import lexicon
from pipeline.corpora.builtin.seeded_random import SeededRandom
from pipeline.corpora.builtin.words import BE, Frame, Kind, Modal


def tense(rng: SeededRandom) -> Tense:
    """Returns the present, the past or a modal verb."""
    return rng.choice(lexicon().modals) if rng.chance(0.22) else simple_tense(rng)


def simple_tense(rng: SeededRandom) -> Tense:
    """Returns the present or the past."""
    return "past" if rng.chance(0.4) else "present"


def action(
    rng: SeededRandom,
    who: phrases.Nominal,
    when: Tense,
    *,
    negated: bool = False,
    willing: bool = False,
) -> Clause:
    """Returns a clause about an action, without a time; `willing` excludes unintended ones."""
    deliberate = willing or isinstance(when, Modal)
    clause = Clause(who, BE, tense=when, negated=negated)
    group = rng.weighted_choice(
        (
            (56, "deliberate" if deliberate else "object"),
            (10, "dative"),
            (10, "preposition"),
            (12, "gift"),
            (10, "activity"),
            (5, "daily"),
            (12, "motion"),
        )
    )
    match group:
        case "gift":
            return _give(rng, clause)
        case "activity":
            return _be_active(rng, clause)
        case "daily":
            return replace(clause, verb=rng.choice(lexicon().verbs["daily"]))
        case "motion":
            return go(rng, clause)
        case _:
            return act_on(rng, clause, rng.choice(lexicon().frames[group]))


def act_on(rng: SeededRandom, clause: Clause, frame: Frame) -> Clause:
    """Returns the clause with a frame's verb and a suitable object."""
    negated = clause.negated
    # A negated prepositional object stays definite: "nicht auf einen Bus" would stress one.
    if negated and frame.german_preposition:
        return with_object(clause, frame, participants.known(rng, frame.objects))
    persons = all(kind in lexicon().kinds["persons"] for kind in frame.objects)
    # English would split its particle: "picks him up".
    if persons and (" " not in frame.verb.english or frame.case == "dative"):
        nominal = participants.person(rng, exclude=clause.subject)
        if not isinstance(nominal, phrases.NounPhrase):
            return with_object(clause, frame, nominal)
    return with_object(
        clause, frame, participants.noun_phrase(rng, frame.objects, counted=not negated)
    )


def with_object(clause: Clause, frame: Frame, nominal: phrases.Nominal) -> Clause:
    """Returns the clause with a frame's verb and the given object."""
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


def _give(rng: SeededRandom, clause: Clause) -> Clause:
    frame = rng.choice(lexicon().frames["gift"])
    receiver = participants.person(rng, exclude=clause.subject)
    if isinstance(receiver, phrases.NounPhrase):
        receiver = participants.known(rng, lexicon().kinds["persons"])
    gift = participants.noun_phrase(rng, frame.objects, counted=not clause.negated)
    return replace(
        clause,
        verb=frame.verb,
        complements=(
            object_complement(receiver, "dative"),
            object_complement(gift, "accusative", negated=clause.negated),
        ),
        negated_by_determiner=gift.is_indefinite,
    )


def _be_active(rng: SeededRandom, clause: Clause) -> Clause:
    where = (
        participants.in_place(rng)
        if rng.chance(0.6)
        else participants.next_to(rng, lexicon().kinds["buildings"], lexicon().texts["nearby"])
    )
    return replace(clause, verb=rng.choice(lexicon().verbs["activity"]), complements=(where,))


def go(rng: SeededRandom, clause: Clause) -> Clause:
    """Returns the clause with a verb of motion and a destination."""
    if rng.chance(0.35):
        city = rng.choice(lexicon().texts["city"])
        goal = Complement(f"to {city.english}", f"nach {city.german}", "prepositional")
        return replace(clause, verb=rng.choice(lexicon().verbs["journey"]), complements=(goal,))
    if rng.chance(0.5):
        goal = prepositional_complement(
            "to", "zu", participants.place(rng, lexicon().kinds["buildings"]), "dative"
        )
    else:
        inside = participants.place(rng, lexicon().kinds["locations"])
        goal = prepositional_complement("into", "in", inside, "accusative")
    return replace(clause, verb=rng.choice(lexicon().verbs["motion"]), complements=(goal,))


def mood(rng: SeededRandom, who: phrases.Nominal, when: Tense, *, negated: bool = False) -> Clause:
    """Returns a clause about a person's mood."""
    feeling = predicate_complement(rng.choice(lexicon().moods))
    return Clause(who, BE, (feeling,), when, negated)


def property_of(
    rng: SeededRandom, what: phrases.Nominal, kind: Kind, *, negated: bool = False
) -> Clause:
    """Returns a clause about a property of something."""
    quality = predicate_complement(rng.choice(kind.adjectives))
    return Clause(what, BE, (quality,), "present", negated)


def timed(rng: SeededRandom, clause: Clause) -> Clause:
    """Returns the clause with a time that agrees with its tense."""
    groups = ("daily", "timetable", "programme")
    if any(clause.verb in lexicon().verbs[group] for group in groups) and rng.chance(0.5):
        return replace(clause, time=rng.choice(lexicon().texts["clock_time"]))
    if isinstance(clause.tense, Modal):
        return replace(clause, time=rng.choice(lexicon().texts["future_time"]))
    past = clause.tense == "past"
    times = lexicon().texts["past_time"] if past else lexicon().texts["present_time"]
    return replace(clause, time=rng.choice(times))


def perhaps_timed(rng: SeededRandom, clause: Clause, probability: float) -> Clause:
    """Returns the clause, sometimes with a frequency or a time; negated clauses get neither."""
    if clause.negated:
        return clause
    if clause.tense == "present" and rng.chance(0.15):
        return replace(clause, frequency=rng.choice(lexicon().texts["frequency"]))
    return timed(rng, clause) if rng.chance(probability) else clause
