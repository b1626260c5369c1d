"""Clauses: one meaning in the word orders of English and German.

German orders: verb second (statements), verb first (questions) and verb last (subordinate).
Its middle field is: pronouns, time, frequency, objects, "nicht", prepositional phrases.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from pipeline.corpora.builtin import english, german
from pipeline.corpora.builtin.phrases import Nominal, NounPhrase, Pronoun
from pipeline.corpora.builtin.words import Adjective, Bilingual, Case, Modal, Verb

# German puts the progressive into the present.
Tense = Literal["present", "progressive", "past"] | Modal


class Complement(NamedTuple):
    """Part of the predicate; `slot` is its place in the German middle field."""

    english: str
    german: str
    slot: Literal["pronoun", "object", "prepositional"]


@dataclass(frozen=True)
class Clause:
    """Who does what, how and when."""

    subject: Nominal
    verb: Verb
    complements: tuple[Complement, ...] = ()
    tense: Tense = "present"
    negated: bool = False
    # German negates by kein, so without nicht.
    negated_by_determiner: bool = False
    frequency: Bilingual | None = None
    time: Bilingual | None = None


def object_complement(nominal: Nominal, case: Case, *, negated: bool = False) -> Complement:
    """Returns an object without preposition; `negated` turns ein into kein."""
    text = nominal.english(subject=False)
    if isinstance(nominal, Pronoun):
        return Complement(text, nominal.german(case), "pronoun")
    if negated and isinstance(nominal, NounPhrase) and nominal.is_indefinite:
        nominal = nominal.negated()
    return Complement(text, nominal.german(case), "object")


def prepositional_complement(
    english_preposition: str, german_preposition: str, nominal: Nominal, case: Case
) -> Complement:
    """Returns a prepositional phrase, contracted in German: in the garden, im Garten."""
    return Complement(
        f"{english_preposition} {nominal.english(subject=False)}",
        german.contract(german_preposition, nominal.german(case)),
        "prepositional",
    )


def predicate_complement(adjective: Adjective) -> Complement:
    """Returns an adjective after "be", which German leaves without ending."""
    return Complement(adjective.english, adjective.german, "prepositional")


def statement(clause: Clause, *, time_first: bool = False) -> Bilingual:
    """Returns the main clause; a time in front makes German invert subject and verb."""
    subject = clause.subject.german("nominative")
    finite, tail = _german_group(clause)
    if time_first and clause.time:
        middle = _middle_field(clause, with_time=False)
        return Bilingual(
            f"{clause.time.english} {english_declarative(clause, with_time=False)}",
            _join(clause.time.german, finite, subject, *middle, tail),
        )
    middle = _middle_field(clause)
    return Bilingual(english_declarative(clause), _join(subject, finite, *middle, tail))


def question(clause: Clause, interrogative: Bilingual | None = None) -> Bilingual:
    """Returns a question for yes or no, or one that starts with an interrogative (what, was)."""
    auxiliary, main = _english_group(clause, split=True)
    finite, tail = _german_group(clause)
    return Bilingual(
        _join(
            interrogative.english if interrogative else "",
            auxiliary,
            clause.subject.english(subject=True),
            clause.frequency.english if clause.frequency else "",
            main,
            *_english_rest(clause),
        ),
        _join(
            interrogative.german if interrogative else "",
            finite,
            clause.subject.german("nominative"),
            *_middle_field(clause),
            tail,
        ),
    )


def inverted(clause: Clause) -> Bilingual:
    """Returns the main clause as it stands after a subordinate one: …, isst der Mann Brot."""
    return Bilingual(english_declarative(clause), question(clause).german)


def subordinate(clause: Clause, opening: Bilingual | None = None) -> Bilingual:
    """Returns the clause with the German verb last, after an optional conjunction."""
    group = _german_group(clause)
    return Bilingual(
        _join(opening.english if opening else "", english_declarative(clause)),
        _join(
            opening.german if opening else "",
            clause.subject.german("nominative"),
            *_middle_field(clause),
            german.join_finite_last(group, clause.verb),
        ),
    )


def purpose(clause: Clause) -> Bilingual:
    """Returns "in order to …" and um … zu, without the clause's subject and tense."""
    return Bilingual(
        _join("in order to", clause.verb.english, *_english_rest(clause)),
        _join("um", *_middle_field(clause), german.zu_infinitive(clause.verb)),
    )


def english_declarative(clause: Clause, *, with_time: bool = True) -> str:
    """Returns the English clause: subject, verb, objects, time."""
    auxiliary, main = _english_group(clause, split=clause.negated)
    modal_says_not = isinstance(clause.tense, Modal)
    return _join(
        clause.subject.english(subject=True),
        auxiliary,
        "not" if clause.negated and not modal_says_not else "",
        clause.frequency.english if clause.frequency else "",
        main,
        *_english_rest(clause, with_time=with_time),
    )


def _english_rest(clause: Clause, *, with_time: bool = True) -> list[str]:
    """Returns the parts that follow the English verb."""
    rest = [complement.english for complement in clause.complements]
    return [*rest, clause.time.english] if clause.time and with_time else rest


def _middle_field(clause: Clause, *, with_time: bool = True) -> list[str]:
    """Returns the parts between the two German verb positions, in order."""

    def parts(slot: str) -> list[str]:
        return [part.german for part in clause.complements if part.slot == slot]

    return [
        *parts("pronoun"),
        clause.time.german if clause.time and with_time else "",
        clause.frequency.german if clause.frequency else "",
        *parts("object"),
        "nicht" if clause.negated and not clause.negated_by_determiner else "",
        *parts("prepositional"),
    ]


def _english_group(clause: Clause, *, split: bool) -> english.VerbGroup:
    agreement, tense = clause.subject.agreement, clause.tense
    if isinstance(tense, Modal):
        return english.modal_group(
            clause.verb, agreement, modal=tense, negated=clause.negated, split=split
        )
    if tense == "progressive":
        return english.progressive_group(clause.verb, agreement)
    return english.simple_group(clause.verb, agreement, past=tense == "past", split=split)


def _german_group(clause: Clause) -> german.VerbGroup:
    agreement, tense = clause.subject.agreement, clause.tense
    if isinstance(tense, Modal):
        return german.modal_group(clause.verb, agreement, modal=tense, negated=clause.negated)
    group = german.past_group if tense == "past" else german.present_group
    return group(clause.verb, agreement)


def _join(*words: str) -> str:
    return " ".join(word for word in words if word)
