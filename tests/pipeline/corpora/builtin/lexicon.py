"""The lexicon's entries by their English form, for the tests."""

from pipeline.corpora.builtin.english import plural, third_person
from pipeline.corpora.builtin.lexicon import lexicon
from pipeline.corpora.builtin.words import BE, Noun, Verb

_ALL_NOUNS = {noun for kinds in lexicon().kinds.values() for kind in kinds for noun in kind.nouns}
_ALL_VERBS = {verb for verbs in lexicon().verbs.values() for verb in verbs}

NOUNS: dict[str, Noun] = {noun.english: noun for noun in _ALL_NOUNS}
# "Know" is kennen of people and wissen of facts; here it is the latter.
VERBS: dict[str, Verb] = {
    **{verb.english: verb for verb in _ALL_VERBS},
    "know": lexicon().verb("fact"),
    "be": BE,
}
MODALS = {modal.english: modal for modal in lexicon().modals}


def english_forms() -> dict[object, set[str]]:
    """Returns the lower-case English forms of every lemma but the function words."""
    forms: dict[object, set[str]] = {}
    for noun in _ALL_NOUNS:
        forms[noun] = {noun.english, plural(noun.english)}
    for verb in _ALL_VERBS:
        inflected = (verb.english, third_person(verb.english), verb.past)
        forms[verb] = {form.lower() for form in inflected}
    for adjective in lexicon().adjectives.values():
        forms[adjective] = {adjective.english}
    for name in lexicon().names:
        forms[name] = {name.text.lower(), f"{name.text.lower()}'s"}
    for group in ("city", "number", "weekday", "frequency"):
        for text in lexicon().texts[group]:
            forms[text] = {text.english.lower()}
    return forms
