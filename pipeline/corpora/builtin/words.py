"""The kinds of dictionary entry that the built-in corpus is written with.

`lexicon` holds them; `english` and `german` inflect them.
"""

from typing import Literal, NamedTuple

Gender = Literal["m", "f", "n"]
Case = Literal["nominative", "accusative", "dative"]
# The verb form a subject asks for: that of "I", of "he" or of "we" (which is also that of "they").
Agreement = Literal["I", "he", "we"]
Auxiliary = Literal["haben", "sein"]


class Adjective(NamedTuple):
    """An adjective; `stem` is what German endings are added to when it is not the word itself."""

    english: str
    german: str
    stem: str = ""


class Noun(NamedTuple):
    """A noun; without a German plural (milk, my mother) it is only used in the singular.

    `weak` nouns take their plural form in every singular case but the nominative (den Jungen).
    """

    english: str
    german: str
    gender: Gender
    plural: str = ""
    weak: bool = False


class Kind(NamedTuple):
    """Nouns which take the same adjectives and suit the same verbs."""

    nouns: tuple[Noun, ...]
    adjectives: tuple[Adjective, ...]


class Verb(NamedTuple):
    """A verb; of several English words ("get up") the first is the one inflected.

    `infinitive` and `third` leave out the separable prefix, `participle` holds it:
    stehen, steht, aufgestanden, auf.
    """

    english: str
    past: str
    infinitive: str
    third: str
    participle: str
    prefix: str = ""
    auxiliary: Auxiliary = "haben"


BE = Verb("be", "was", "sein", "ist", "gewesen", auxiliary="sein")


class Frame(NamedTuple):
    """Valency frame: a verb, the kinds of its object, and how the object joins the verb."""

    verb: Verb
    objects: tuple[Kind, ...] = ()
    case: Case = "accusative"
    english_preposition: str = ""
    german_preposition: str = ""


class Modal(NamedTuple):
    """A modal verb, or the future's auxiliary; "want to" is inflected as a full verb.

    The German forms after "ich" and "er" are the same; the negated ones are given where they
    are those of another verb.
    """

    english: str
    singular: str
    plural: str
    negated_english: str = ""
    negated_singular: str = ""
    negated_plural: str = ""


class Name(NamedTuple):
    """The name of a person, the same in both languages."""

    text: str
    gender: Gender


class Bilingual(NamedTuple):
    """A text in both languages: from an uninflected word to a whole sentence."""

    english: str
    german: str
