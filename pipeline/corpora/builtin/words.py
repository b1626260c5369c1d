"""Types of dictionary entries.

`lexicon` holds them; `english` and `german` inflect them.
"""

from typing import Literal, NamedTuple

Gender = Literal["m", "f", "n"]
Case = Literal["nominative", "accusative", "dative"]
# The verb form that agrees with a subject; "they" takes that of "we".
Agreement = Literal["I", "you", "he", "we"]
Auxiliary = Literal["haben", "sein"]


class Adjective(NamedTuple):
    """An adjective; `stem` takes the German endings where it differs from the word itself."""

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
    """Nouns that take the same adjectives and verbs."""

    nouns: tuple[Noun, ...]
    adjectives: tuple[Adjective, ...]


class Verb(NamedTuple):
    """A verb; of several English words ("get up") the first is inflected.

    `infinitive` and `third` leave out the separable prefix, `participle` includes it:
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
    """A person's name, equal in both languages."""

    text: str
    gender: Gender


class Bilingual(NamedTuple):
    """A text in both languages: from an uninflected word to a whole sentence."""

    english: str
    german: str
