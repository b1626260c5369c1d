"""Templates of short sentences: what people type first into a translator."""

from dataclasses import replace

from pipeline.corpora.builtin import actions, participants, phrases
from pipeline.corpora.builtin.clauses import Clause, Complement, Tense, question, statement
from pipeline.corpora.builtin.lexicon import lexicon
from pipeline.corpora.builtin.seeded_random import SeededRandom
from pipeline.corpora.builtin.words import BE, Bilingual, Frame

_EVERYDAY_PEOPLE = ("boy", "child", "girl", "man", "woman")
_WHERE = Bilingual("where", "wo")


def tell_activity(rng: SeededRandom) -> Bilingual:
    """A subject and a verb, sometimes with a place: the dog sleeps, Anna is not singing."""
    return statement(_activity(rng, negated=rng.chance(0.1)))


def ask_activity(rng: SeededRandom) -> Bilingual:
    """The same as a question: is the dog sleeping."""
    clause = _activity(rng)
    if rng.chance(0.2):
        return question(replace(clause, complements=()), _WHERE)
    return question(clause)


def tell_transitive(rng: SeededRandom) -> Bilingual:
    """A subject, a verb and a plain object: a man reads a book."""
    return statement(_transitive(rng, negated=rng.chance(0.1)))


def ask_transitive(rng: SeededRandom) -> Bilingual:
    """The same as a question: do you have a dog."""
    return question(_transitive(rng))


def describe_shortly(rng: SeededRandom) -> Bilingual:
    """A noun or pronoun and an adjective: the house is big, you are beautiful, I am tired."""
    if rng.chance(0.3):
        subject, adjectives = _subject(rng), lexicon().moods
    else:
        kind = rng.choice((*lexicon().kinds["persons"], *lexicon().kinds["things"]))
        adjectives = kind.adjectives
        subject = participants.known(rng, (kind,), plain=True)
        if kind in lexicon().kinds["persons"] and rng.chance(0.3):
            subject = participants.pronoun(rng)
    adjective = rng.choice(adjectives)
    complement = Complement(adjective.english, adjective.german, "prepositional")
    tense: Tense = "past" if rng.chance(0.1) else "present"
    clause = Clause(subject, BE, (complement,), tense, negated=rng.chance(0.1))
    return statement(clause)


def ask_place(rng: SeededRandom) -> Bilingual:
    """Where something or somebody is: where is the station."""
    groups = ("places", "places", "hand_sized", "persons", "pets")
    kinds = lexicon().kinds[rng.choice(groups)]
    return question(Clause(participants.known(rng, kinds, plain=True), BE), _WHERE)


def tell_home_or_language(rng: SeededRandom) -> Bilingual:
    """Where somebody lives, or which language somebody speaks."""
    return statement(_home_or_language(rng))


def ask_home_or_language(rng: SeededRandom) -> Bilingual:
    """Whether somebody lives there, or speaks that language."""
    return question(_home_or_language(rng))


def order(rng: SeededRandom) -> Bilingual:
    """A wish in a shop or a restaurant: I would like a coffee, please."""
    kinds = lexicon().kinds[rng.choice(("drinks", "food", "hand_sized", "clothes"))]
    wish = participants.noun_phrase(rng, kinds)
    if kinds == lexicon().kinds["drinks"] and rng.chance(0.7):
        wish = replace(wish, determiner=phrases.A, adjective=None)
    please, bitte = (", please", ", bitte") if rng.chance(0.3) else ("", "")
    return Bilingual(
        f"I would like {wish.english()}{please}",
        f"ich möchte {wish.german('accusative')}{bitte}",
    )


def address(rng: SeededRandom) -> Bilingual:
    """Set phrases with a name, a city or a second phrase: good morning, Anna; hello, how are you.

    The result includes its end mark.
    """
    name, city = rng.choice(lexicon().names).text, rng.choice(lexicon().texts["city"])
    if rng.chance(0.3):
        phrase = rng.choice(lexicon().texts["open_phrase"])
        return Bilingual(
            phrase.english.format(name=name, city=city.english),
            phrase.german.format(name=name, city=city.german),
        )
    first, second = (rng.choice(lexicon().texts["set_phrase"]) for _ in range(2))
    if rng.chance(0.5):
        return Bilingual(f"{first.english} {second.english}", f"{first.german} {second.german}")
    return Bilingual(
        f"{first.english[:-1]}, {name}{first.english[-1]}",
        f"{first.german[:-1]}, {name}{first.german[-1]}",
    )


def _activity(rng: SeededRandom, *, negated: bool = False) -> Clause:
    animal = rng.chance(0.3)
    kinds = lexicon().kinds["animals"]
    subject = participants.known(rng, kinds, plain=True) if animal else _subject(rng)
    groups = ("animal",) if animal else ("everyday", "everyday", "activity", "daily")
    verb = rng.choice(lexicon().verbs[rng.choice(groups)])
    clause = Clause(subject, verb, (), _tense(rng), negated)
    if verb in lexicon().verbs["activity"] and rng.chance(0.3):
        return replace(clause, complements=(participants.in_place(rng, plain=True),))
    return clause


def _transitive(rng: SeededRandom, *, negated: bool = False) -> Clause:
    group = rng.weighted_choice(((4, "present"), (3, "progressive"), (3, "object")))
    frame = rng.choice(lexicon().frames[group])
    tense: Tense = "present"
    if group == "progressive" and rng.chance(0.6):
        tense = "progressive"
    elif group == "object" and rng.chance(0.3):
        tense = "past"
    subject = _subject(rng)
    clause = Clause(subject, BE, tense=tense, negated=negated)
    return actions.with_object(clause, frame, _object(rng, frame, subject))


def _home_or_language(rng: SeededRandom) -> Clause:
    subject = _subject(rng)
    if rng.chance(0.5):
        city = rng.choice(lexicon().texts["city"])
        place = Complement(f"in {city.english}", f"in {city.german}", "prepositional")
        return Clause(subject, lexicon().verb("live"), (place,))
    language = rng.choice(lexicon().texts["language"])
    complement = Complement(language.english, language.german, "object")
    return Clause(subject, lexicon().verb("speak"), (complement,))


def _subject(rng: SeededRandom) -> phrases.Nominal:
    """Returns a short subject, in half of the cases a pronoun."""
    if rng.chance(0.45):
        return participants.pronoun(rng)
    if rng.chance(0.2):
        return phrases.Person(rng.choice(lexicon().names))
    if rng.chance(0.4):
        return participants.known(rng, lexicon().kinds["persons"], plain=True)
    (people,) = lexicon().kinds["people"]
    everyday = [noun for noun in people.nouns if noun.english in _EVERYDAY_PEOPLE]
    noun = rng.choice(everyday if rng.chance(0.6) else people.nouns)
    if rng.chance(0.4):
        return phrases.NounPhrase(noun, phrases.A)
    return phrases.NounPhrase(noun, phrases.THE, plural=rng.chance(0.4))


def _object(rng: SeededRandom, frame: Frame, subject: phrases.Nominal) -> phrases.Nominal:
    """Returns an object without a number, mostly without an adjective."""
    takes_people = any(kind in lexicon().kinds["people"] for kind in frame.objects)
    # English would split its particle: "picks him up".
    if takes_people and " " not in frame.verb.english and rng.chance(0.4):
        return participants.pronoun(rng, exclude=subject)
    nominal = participants.noun_phrase(rng, frame.objects, counted=False)
    return replace(nominal, adjective=None) if rng.chance(0.7) else nominal


def _tense(rng: SeededRandom) -> Tense:
    tenses: tuple[tuple[int, Tense], ...] = ((6, "present"), (3, "progressive"), (1, "past"))
    return rng.weighted_choice(tenses)
