"""English inflection: plurals, "a" or "an", and the verb with its auxiliary."""

import re
from typing import NamedTuple

from pipeline.corpora.builtin.words import Agreement, Modal, Verb

_IRREGULAR_PLURALS = {
    "child": "children",
    "knife": "knives",
    "man": "men",
    "mouse": "mice",
    "potato": "potatoes",
    "tomato": "tomatoes",
    "woman": "women",
}
_IRREGULAR_THIRD_PERSONS = {"do": "does", "go": "goes", "have": "has"}
_DOUBLED_BEFORE_ING = ("get", "run", "shop", "sit", "swim")
_CONTRACTIONS = [
    (re.compile(rf"\b{pattern}\b", re.IGNORECASE), contraction)
    for pattern, contraction in (
        (r"(I) am", r"\1'm"),
        (r"(you|we|they) are", r"\1're"),
        (r"(he|she|it|what|where) is", r"\1's"),
        (r"(do|does|did|is|are|was|were|should|must) not", r"\1n't"),
        (r"(ca)nnot", r"\1n't"),
        (r"(w)ill not", r"\1on't"),
    )
]
_SIBILANTS = ("s", "x", "z", "ch", "sh")
_VOWELS = tuple("aeiou")


class VerbGroup(NamedTuple):
    """The auxiliary (before "not" and, in a question, before the subject) and the main verb."""

    auxiliary: str
    main: str


def add_s(word: str) -> str:
    """Adds the -s of plural nouns and third persons: box → boxes, city → cities."""
    if word.endswith("y") and word[-2] not in _VOWELS:
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(_SIBILANTS) else f"{word}s"


def plural(noun: str) -> str:
    """Returns the plural of a noun, compounds included: train station → train stations."""
    return _IRREGULAR_PLURALS.get(noun) or add_s(noun)


def indefinite_article(following: str) -> str:
    """Returns "a" or "an" for the word that follows, judged by its first letter."""
    return "an" if following.startswith(_VOWELS) else "a"


def third_person(verb: str) -> str:
    """Returns the form after "he"; particles stay: get up → gets up, go out → goes out."""
    first, space, particles = verb.partition(" ")
    return f"{_IRREGULAR_THIRD_PERSONS.get(first) or add_s(first)}{space}{particles}"


def present(verb: str, agreement: Agreement) -> str:
    """Returns the simple present of a verb other than "be"."""
    return third_person(verb) if agreement == "he" else verb


def be(agreement: Agreement, *, past: bool) -> str:
    """Returns the form of "be" for a subject."""
    if past:
        return "were" if agreement in ("we", "you") else "was"
    return {"I": "am", "you": "are", "he": "is", "we": "are"}[agreement]


def ing_form(verb: str) -> str:
    """Returns the present participle; particles stay: dance → dancing, take off → taking off."""
    first, space, particles = verb.partition(" ")
    if first in _DOUBLED_BEFORE_ING:
        first += first[-1]
    elif first.endswith("e"):
        first = first[:-1]
    return f"{first}ing{space}{particles}"


def contract(text: str) -> str:
    """Contracts auxiliaries: I am → I'm, does not → doesn't."""
    for pattern, contraction in _CONTRACTIONS:
        text = pattern.sub(contraction, text)
    return text


def simple_group(verb: Verb, agreement: Agreement, *, past: bool, split: bool) -> VerbGroup:
    """Returns present or past; `split` (question or negation) inserts the auxiliary "do"."""
    if verb.english == "be":
        return VerbGroup(be(agreement, past=past), "")
    if split:
        return VerbGroup("did" if past else present("do", agreement), verb.english)
    return VerbGroup("", verb.past if past else present(verb.english, agreement))


def progressive_group(verb: Verb, agreement: Agreement) -> VerbGroup:
    """Returns the present progressive: is eating."""
    return VerbGroup(be(agreement, past=False), ing_form(verb.english))


def modal_group(
    verb: Verb, agreement: Agreement, *, modal: Modal, negated: bool, split: bool
) -> VerbGroup:
    """Returns a modal with its infinitive; negated modals include "not"."""
    if modal.english != "want to":
        return VerbGroup(modal.negated_english if negated else modal.english, verb.english)
    does = present("do", agreement)
    if negated:
        return VerbGroup(f"{does} not", f"want to {verb.english}")
    if split:
        return VerbGroup(does, f"want to {verb.english}")
    return VerbGroup("", f"{present('want', agreement)} to {verb.english}")
