"""English inflection: plurals, "a" or "an", and the verb with its auxiliary."""

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
_IRREGULAR_THIRD_PERSONS = {"do": "does", "go": "goes"}
_SIBILANTS = ("s", "x", "z", "ch", "sh")
_VOWELS = tuple("aeiou")


class VerbGroup(NamedTuple):
    """What stands before "not" and, in a question, before the subject; and what stands after."""

    auxiliary: str
    main: str


def add_s(word: str) -> str:
    """Adds the -s that plural nouns and third persons share: box → boxes, city → cities."""
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
        return "were" if agreement == "we" else "was"
    return {"I": "am", "he": "is", "we": "are"}[agreement]


def simple_group(verb: Verb, agreement: Agreement, *, past: bool, split: bool) -> VerbGroup:
    """Returns present or past; `split` (a question or negation) asks for "do" as auxiliary."""
    if verb.english == "be":
        return VerbGroup(be(agreement, past=past), "")
    if split:
        return VerbGroup("did" if past else present("do", agreement), verb.english)
    return VerbGroup("", verb.past if past else present(verb.english, agreement))


def modal_group(
    verb: Verb, agreement: Agreement, *, modal: Modal, negated: bool, split: bool
) -> VerbGroup:
    """Returns a modal with its infinitive; the negated modal holds its own "not"."""
    if modal.english != "want to":
        return VerbGroup(modal.negated_english if negated else modal.english, verb.english)
    does = present("do", agreement)
    if negated:
        return VerbGroup(f"{does} not", f"want to {verb.english}")
    if split:
        return VerbGroup(does, f"want to {verb.english}")
    return VerbGroup("", f"{present('want', agreement)} to {verb.english}")
