"""Participants: noun phrases filled with words that make sense together."""

from dataclasses import replace

from pipeline.corpora.builtin import phrases
from pipeline.corpora.builtin.clauses import Complement, prepositional_complement
from pipeline.corpora.builtin.lexicon import lexicon
from pipeline.corpora.builtin.seeded_random import SeededRandom
from pipeline.corpora.builtin.words import Bilingual, Kind

_PRONOUNS = (
    *(phrases.I, phrases.I, phrases.I, phrases.YOU, phrases.YOU),
    *(phrases.HE, phrases.SHE, phrases.WE, phrases.THEY),
)
_POSSESSIVES = (phrases.MY, phrases.YOUR, phrases.HIS, phrases.HER, phrases.OUR)


def person(rng: SeededRandom, *, exclude: phrases.Nominal | None = None) -> phrases.Nominal:
    """Returns a name, a pronoun or a described person, not reflexive to `exclude`."""
    if rng.chance(0.28):
        return phrases.Person(rng.choice(lexicon().names))
    if rng.chance(0.25):
        return pronoun(rng, exclude=exclude)
    return described_person(rng)


def pronoun(rng: SeededRandom, *, exclude: phrases.Nominal | None = None) -> phrases.Pronoun:
    """Returns a personal pronoun that is not reflexive to `exclude`, the subject of the clause."""
    chosen = rng.choice(_PRONOUNS)
    # "I see me", "we see me" and "you see you" would be reflexive.
    if {chosen, exclude} <= {phrases.I, phrases.WE} or chosen == exclude == phrases.YOU:
        return phrases.THEY
    return chosen


def subject(rng: SeededRandom) -> phrases.Nominal:
    """Returns a person or a couple as a subject."""
    if rng.chance(0.05):
        return phrases.Couple(rng.choice(lexicon().women), rng.choice(lexicon().men))
    return person(rng)


def gendered_subject(rng: SeededRandom) -> phrases.Nominal:
    """Returns a subject with a personal pronoun, so not a neuter noun."""
    while (chosen := subject(rng)).column == "n":
        pass
    return chosen


def described_person(rng: SeededRandom) -> phrases.NounPhrase:
    """Returns a person by description: the young doctor, my sister, three students."""
    kind = rng.choice(lexicon().kinds["persons"])
    if kind in lexicon().kinds["people"] and rng.chance(0.25):
        someone = noun_phrase(rng, (kind,))
        return (
            replace(someone, determiner=phrases.THE)
            if someone.determiner == phrases.BARE
            else someone
        )
    return known(rng, (kind,))


def noun_phrase(
    rng: SeededRandom, kinds: tuple[Kind, ...], *, counted: bool = True
) -> phrases.NounPhrase:
    """Returns any noun phrase of these kinds; without `counted` it has no number."""
    kind = rng.choice(kinds)
    if kind in lexicon().kinds["relatives"] or rng.chance(0.4):
        return known(rng, (kind,))
    noun = rng.choice(kind.nouns)
    adjective = rng.choice(kind.adjectives) if rng.chance(0.45) else None
    if not noun.plural:
        return phrases.NounPhrase(noun, phrases.BARE, adjective)
    if rng.chance(0.6):
        return phrases.NounPhrase(noun, phrases.A, adjective)
    determiner = _number(rng) if counted and rng.chance(0.6) else phrases.BARE
    return phrases.NounPhrase(noun, determiner, adjective, plural=True)


def known(rng: SeededRandom, kinds: tuple[Kind, ...], *, plain: bool = False) -> phrases.NounPhrase:
    """Returns a definite noun phrase, of one or several; `plain` leaves out the adjective."""
    kind = rng.choice(kinds)
    noun = rng.choice(kind.nouns)
    adjective = rng.choice(kind.adjectives) if not plain and rng.chance(0.35) else None
    plural = bool(noun.plural) and rng.chance(0.25)
    return phrases.NounPhrase(noun, _definite(rng, kind), adjective, plural)


def _definite(rng: SeededRandom, kind: Kind) -> phrases.Determiner:
    if kind in lexicon().kinds["relatives"] or (
        kind not in lexicon().kinds["unowned"] and rng.chance(0.25)
    ):
        if rng.chance(0.75):
            return rng.choice(_POSSESSIVES)
        owner = rng.choice(lexicon().names).text
        return phrases.Determiner(f"{owner}'s", f"{owner}s", "bare", f"{owner}'s")
    return phrases.THIS if rng.chance(0.15) else phrases.THE


def _number(rng: SeededRandom) -> phrases.Determiner:
    number = rng.choice(lexicon().texts["number"])
    return phrases.Determiner("", number.german, "bare", number.english)


def place(rng: SeededRandom, kinds: tuple[Kind, ...], *, plain: bool = False) -> phrases.NounPhrase:
    """Returns one place: the garden, an old church; `plain` leaves out the adjective."""
    kind = rng.choice(kinds)
    adjective = rng.choice(kind.adjectives) if not plain and rng.chance(0.3) else None
    determiner = phrases.A if rng.chance(0.2) else _definite(rng, kind)
    return phrases.NounPhrase(rng.choice(kind.nouns), determiner, adjective)


def in_place(rng: SeededRandom, *, plain: bool = False) -> Complement:
    """Returns the place of an event: in the garden, im Garten."""
    location = place(rng, lexicon().kinds["locations"], plain=plain)
    return prepositional_complement("in", "in", location, "dative")


def next_to(
    rng: SeededRandom, kinds: tuple[Kind, ...], prepositions: tuple[Bilingual, ...]
) -> Complement:
    """Returns a place relative to something: under the table, unter dem Tisch."""
    preposition = rng.choice(prepositions)
    return prepositional_complement(
        preposition.english, preposition.german, place(rng, kinds), "dative"
    )
