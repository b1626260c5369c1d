"""The lexicon's entries by their English form, for the tests."""

from pipeline.corpora.builtin import modifiers, nouns, things, verbs
from pipeline.corpora.builtin.english import plural, third_person
from pipeline.corpora.builtin.verbs import Frame
from pipeline.corpora.builtin.words import Adjective, Kind, Noun, Verb


def _all_verbs() -> set[Verb]:
    found: set[Verb] = set()
    for entry in vars(verbs).values():
        for item in entry if type(entry) is tuple else (entry,):
            if isinstance(item, Frame):
                found.add(item.verb)
            elif isinstance(item, Verb):
                found.add(item)
    return found


_ALL_NOUNS = [
    noun
    for module in (nouns, things)
    for kind in vars(module).values()
    if isinstance(kind, Kind)
    for noun in kind.nouns
]
_ALL_VERBS = _all_verbs()

NOUNS: dict[str, Noun] = {noun.english: noun for noun in _ALL_NOUNS}
# "Know" is kennen of people and wissen of facts; here it is the latter.
VERBS: dict[str, Verb] = {verb.english: verb for verb in _ALL_VERBS} | {"know": verbs.KNOW_THAT}
MODALS = {modal.english: modal for modal in modifiers.MODALS}


def english_forms() -> dict[object, set[str]]:
    """Returns the lower-case English forms of every lemma but the function words."""
    forms: dict[object, set[str]] = {}
    for noun in _ALL_NOUNS:
        forms[noun] = {noun.english, plural(noun.english)}
    for verb in _ALL_VERBS - {verbs.BE}:
        inflected = (verb.english, third_person(verb.english), verb.past)
        forms[verb] = {form.lower() for form in inflected}
    for entry in vars(modifiers).values():
        if isinstance(entry, Adjective):
            forms[entry] = {entry.english}
    for name in modifiers.NAMES:
        forms[name] = {name.text.lower(), f"{name.text.lower()}'s"}
    uninflected = (*modifiers.CITIES, *modifiers.NUMBERS, *modifiers.WEEKDAYS)
    for text in (*uninflected, *modifiers.FREQUENCIES):
        forms[text] = {text.english.lower()}
    return forms
