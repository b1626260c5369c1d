"""Templates with several clauses: subordinate, relative, infinitive and coordinate."""

from dataclasses import replace

from pipeline.corpora.builtin import actions, participants, phrases
from pipeline.corpora.builtin.clauses import (
    Clause,
    Tense,
    inverted,
    purpose,
    statement,
    subordinate,
)
from pipeline.corpora.builtin.lexicon import lexicon
from pipeline.corpora.builtin.seeded_random import SeededRandom
from pipeline.corpora.builtin.words import BE, Bilingual

ALTHOUGH = Bilingual("although", "obwohl")
BECAUSE = Bilingual("because", "weil")
BEFORE = Bilingual("before", "bevor")
IF = Bilingual("if", "wenn")
THAT = Bilingual("that", "dass")
WHERE = Bilingual("where", "wo")
WHETHER = Bilingual("whether", "ob")
WHILE = Bilingual("while", "während")


def give_reason(rng: SeededRandom) -> Bilingual:
    """Somebody does something because of a mood, or despite it."""
    who, when = participants.gendered_subject(rng), actions.simple_tense(rng)
    main = statement(actions.action(rng, who, when, negated=rng.chance(0.3), willing=True))
    negated = rng.chance(0.25)
    clause = actions.mood(rng, phrases.person_pronoun(who), when, negated=negated)
    return _after(main, subordinate(clause, rng.choice((BECAUSE, BECAUSE, ALTHOUGH))))


def concede(rng: SeededRandom) -> Bilingual:
    """Although somebody feels so, … : the German main clause starts with its verb."""
    who, when = participants.gendered_subject(rng), actions.simple_tense(rng)
    opening = subordinate(actions.mood(rng, who, when), rng.choice((ALTHOUGH, BECAUSE)))
    main = actions.action(
        rng, phrases.person_pronoun(who), when, negated=rng.chance(0.4), willing=True
    )
    return _before(opening, inverted(main))


def value(rng: SeededRandom) -> Bilingual:
    """Something is bought because it is good: "it" takes its noun's gender in German."""
    frame = rng.choice(lexicon().frames["valued"])
    kind = rng.choice(frame.objects)
    thing = participants.known(rng, (kind,), plain=True)
    clause = Clause(participants.subject(rng), frame.verb, tense="present", negated=rng.chance(0.2))
    main = statement(actions.with_object(clause, frame, thing))
    quality = actions.property_of(
        rng, phrases.thing_pronoun(thing), kind, negated=clause.negated and rng.chance(0.5)
    )
    return _after(main, subordinate(quality, BECAUSE))


def report(rng: SeededRandom) -> Bilingual:
    """Somebody says that somebody does something."""
    clause = actions.perhaps_timed(
        rng, actions.action(rng, participants.subject(rng), actions.tense(rng)), 0.3
    )
    if rng.chance(0.25):
        clause = actions.action(rng, participants.subject(rng), actions.tense(rng), negated=True)
    main = statement(Clause(participants.subject(rng), rng.choice(lexicon().verbs["statement"])))
    return _after(main, subordinate(clause, THAT))


def wonder(rng: SeededRandom) -> Bilingual:
    """Somebody asks, or does not know, whether or where somebody does it."""
    who = participants.subject(rng)
    asks = (
        Clause(who, lexicon().verb("ask"))
        if rng.chance(0.5)
        else Clause(who, lexicon().verb("fact"), negated=True)
    )
    clause = actions.action(rng, participants.subject(rng), actions.tense(rng))
    if rng.chance(0.3):
        activity = Clause(
            participants.subject(rng),
            rng.choice(lexicon().verbs["activity"]),
            tense=actions.tense(rng),
        )
        return _after(
            statement(asks), subordinate(actions.perhaps_timed(rng, activity, 0.3), WHERE)
        )
    return _after(statement(asks), subordinate(actions.perhaps_timed(rng, clause, 0.2), WHETHER))


def depend_on_weather(rng: SeededRandom) -> Bilingual:
    """If it rains, …, or the other way round."""
    weather = rng.choice(lexicon().texts["weather"])
    # The weather is in the present, and so is the clause that depends on it.
    when: Tense = rng.choice(lexicon().modals) if rng.chance(0.35) else "present"
    action = actions.action(
        rng, participants.subject(rng), when, negated=rng.chance(0.25), willing=True
    )
    joined = rng.choice((IF, IF, BECAUSE, ALTHOUGH))
    clause = Bilingual(f"{joined.english} {weather.english}", f"{joined.german} {weather.german}")
    if rng.chance(0.65):
        return _before(clause, inverted(action))
    return _after(statement(action), clause)


def order_in_time(rng: SeededRandom) -> Bilingual:
    """Somebody does something before doing something else, or while others do."""
    who, when = participants.gendered_subject(rng), actions.simple_tense(rng)
    main = statement(actions.action(rng, who, when, willing=True))
    if rng.chance(0.5):
        return _after(
            main,
            subordinate(actions.go(rng, Clause(phrases.person_pronoun(who), BE, (), when)), BEFORE),
        )
    return _after(
        main,
        subordinate(actions.action(rng, participants.subject(rng), when, willing=True), WHILE),
    )


def tell_of_subject(rng: SeededRandom) -> Bilingual:
    """The man who …, …: German puts a comma on both sides of the relative clause."""
    who = replace(participants.known(rng, lexicon().kinds["people"]), determiner=phrases.THE)
    relative = phrases.relative_pronoun(who, person=True)
    relative_clause = actions.perhaps_timed(
        rng, actions.action(rng, relative, actions.tense(rng)), 0.15
    )
    if rng.chance(0.6):
        return _inside(actions.mood(rng, who, "present"), subordinate(relative_clause))
    return _inside(
        actions.action(rng, who, actions.simple_tense(rng)), subordinate(relative_clause)
    )


def tell_of_object(rng: SeededRandom) -> Bilingual:
    """The coat that the woman buys is new: the relative pronoun is an object."""
    frame = rng.choice(
        (*lexicon().frames["valued"], *lexicon().frames["valued"], *lexicon().frames["dative"])
    )
    kind = rng.choice(frame.objects)
    what = replace(participants.known(rng, (kind,), plain=True), determiner=phrases.THE)
    persons = kind in lexicon().kinds["persons"]
    pronoun = phrases.relative_pronoun(what, person=persons)
    relative_clause = subordinate(
        Clause(participants.subject(rng), frame.verb, tense=actions.simple_tense(rng))
    )
    relative = Bilingual(
        f"{pronoun.english(subject=False)} {relative_clause.english}",
        f"{pronoun.german(frame.case)} {relative_clause.german}",
    )
    main = actions.mood(rng, what, "present") if persons else actions.property_of(rng, what, kind)
    return _inside(main, relative)


def know_somebody(rng: SeededRandom) -> Bilingual:
    """Somebody knows the man who …: the relative clause comes last."""
    frame = rng.choice((*lexicon().frames["meeting"], *lexicon().frames["dative"]))
    known = replace(participants.known(rng, lexicon().kinds["people"]), determiner=phrases.THE)
    main = statement(
        actions.with_object(Clause(participants.subject(rng), frame.verb), frame, known)
    )
    relative = phrases.relative_pronoun(known, person=True)
    relative_clause = subordinate(actions.action(rng, relative, actions.tense(rng)))
    return Bilingual(
        f"{main.english} {relative_clause.english}", f"{main.german}, {relative_clause.german}"
    )


def have_purpose(rng: SeededRandom) -> Bilingual:
    """Somebody goes somewhere in order to do something."""
    who = participants.subject(rng)
    main = actions.go(rng, Clause(who, BE, (), actions.tense(rng)))
    aim = actions.act_on(rng, Clause(who, BE), rng.choice(lexicon().frames["errand"]))
    return _after(statement(main), purpose(aim))


def join(rng: SeededRandom) -> Bilingual:
    """Two people do two things, or one does and the other does not."""
    when = actions.simple_tense(rng)
    contrary = rng.chance(0.5)
    first = statement(actions.action(rng, participants.subject(rng), when))
    second = statement(actions.action(rng, participants.subject(rng), when, negated=contrary))
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
    main = statement(clause)
    english_subject = clause.subject.english(subject=True)
    german_subject = clause.subject.german("nominative")
    return Bilingual(
        f"{english_subject} {relative.english}{main.english.removeprefix(english_subject)}",
        f"{german_subject}, {relative.german},{main.german.removeprefix(german_subject)}",
    )
