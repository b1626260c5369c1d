"""Nominals: names, pronouns and noun phrases, each with its forms in both languages."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol, Self

from pipeline.corpora.builtin import english, german
from pipeline.corpora.builtin.german import Column
from pipeline.corpora.builtin.words import Adjective, Agreement, Case, Name, Noun


class Nominal(Protocol):
    """Subject or object of a clause."""

    @property
    def agreement(self) -> Agreement:
        """The verb form that agrees with it as a subject."""

    @property
    def column(self) -> Column:
        """Its gender or plural, for words that agree with it."""

    def english(self, *, subject: bool) -> str:
        """Returns the English text as a subject or as an object."""

    def german(self, case: Case) -> str:
        """Returns the German text in a case."""


class Determiner(NamedTuple):
    """Determiner of a noun phrase.

    Pattern "article" declines as der, "strong" as dieser, "ein" as ein and mein; "bare" is not
    declined (numbers, names with -s, nothing at all).
    """

    english: str
    german: str
    pattern: Literal["article", "strong", "ein", "bare"]
    english_plural: str = ""


A = Determiner("a", "ein", "ein")
BARE = Determiner("", "", "bare")
HER = Determiner("her", "ihr", "ein", "her")
HIS = Determiner("his", "sein", "ein", "his")
HOW_MANY = Determiner("", "wie viele", "bare", "how many")
MY = Determiner("my", "mein", "ein", "my")
OUR = Determiner("our", "unser", "ein", "our")
THE = Determiner("the", "", "article", "the")
THIS = Determiner("this", "dies", "strong", "these")
WHICH = Determiner("which", "welch", "strong", "which")
YOUR = Determiner("your", "dein", "ein", "your")


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its determiner and perhaps an adjective: the three old dogs."""

    noun: Noun
    determiner: Determiner = THE
    adjective: Adjective | None = None
    plural: bool = False

    @property
    def agreement(self) -> Agreement:
        """The form after he in the singular, after we in the plural."""
        return "we" if self.plural else "he"

    @property
    def column(self) -> Column:
        """The noun's gender, or the plural."""
        return german.column(self.noun.gender, plural=self.plural)

    @property
    def is_indefinite(self) -> bool:
        """Whether German negates it with kein: an apple, apples, cold water."""
        return self.determiner in (A, BARE)

    def negated(self) -> Self:
        """Returns the phrase with kein in German; English says "not" at the verb."""
        return replace(self, determiner=self.determiner._replace(german="kein", pattern="ein"))

    def english(self, *, subject: bool = False) -> str:
        """Returns the phrase, which is the same in either role."""
        head = english.plural(self.noun.english) if self.plural else self.noun.english
        words = f"{self.adjective.english} {head}" if self.adjective else head
        chosen = self.determiner
        opening = chosen.english_plural if self.plural else chosen.english
        if opening == "a":
            opening = english.indefinite_article(words)
        return f"{opening} {words}".lstrip()

    def german(self, case: Case) -> str:
        """Returns determiner, adjective and noun, declined together."""
        opening, case_shown = self._german_determiner(case)
        words = [opening] if opening else []
        if self.adjective:
            words.append(
                german.decline_adjective(self.adjective, case, self.column, case_shown=case_shown)
            )
        return " ".join((*words, german.decline_noun(self.noun, case, plural=self.plural)))

    def _german_determiner(self, case: Case) -> tuple[str, bool]:
        """Returns the declined determiner and whether it has shown the case."""
        stem, pattern = self.determiner.german, self.determiner.pattern
        if pattern == "article":
            return german.definite_article(case, self.column), True
        if pattern == "bare":
            return stem, False
        endings = german.strong_ending if pattern == "strong" else german.ein_ending
        ending = endings(case, self.column)
        return f"{stem}{ending}", bool(ending)


@dataclass(frozen=True)
class Person:
    """A person's name."""

    name: Name
    agreement: Agreement = "he"

    @property
    def column(self) -> Column:
        """The person's gender."""
        return self.name.gender

    def english(self, *, subject: bool = False) -> str:
        """Returns the name, which is the same in either role."""
        return self.name.text

    def german(self, case: Case) -> str:
        """Returns the name, which shows no case."""
        return self.name.text


@dataclass(frozen=True)
class Couple:
    """Two persons' names: Anna and Peter."""

    first: Name
    second: Name
    agreement: Agreement = "we"
    column: Column = "plural"

    def english(self, *, subject: bool = False) -> str:
        """Returns both names, which are the same in either role."""
        return f"{self.first.text} and {self.second.text}"

    def german(self, case: Case) -> str:
        """Returns both names, which show no case."""
        return f"{self.first.text} und {self.second.text}"


@dataclass(frozen=True)
class Pronoun:
    """A word with one form per role: personal, relative or interrogative."""

    english_forms: tuple[str, str]
    german_forms: tuple[str, str, str]
    agreement: Agreement
    column: Column

    def english(self, *, subject: bool = False) -> str:
        """Returns the form for the role: he, him."""
        return self.english_forms[0 if subject else 1]

    def german(self, case: Case) -> str:
        """Returns the form for the case: er, ihn, ihm."""
        return self.german_forms[("nominative", "accusative", "dative").index(case)]


I = Pronoun(("I", "me"), ("ich", "mich", "mir"), "I", "m")  # noqa: E741
HE = Pronoun(("he", "him"), ("er", "ihn", "ihm"), "he", "m")
SHE = Pronoun(("she", "her"), ("sie", "sie", "ihr"), "he", "f")
YOU = Pronoun(("you", "you"), ("du", "dich", "dir"), "you", "m")
WE = Pronoun(("we", "us"), ("wir", "uns", "uns"), "we", "plural")
THEY = Pronoun(("they", "them"), ("sie", "sie", "ihnen"), "we", "plural")
WHO = Pronoun(("who", "whom"), ("wer", "wen", "wem"), "he", "m")


def thing_pronoun(antecedent: Nominal) -> Pronoun:
    """Returns "it" or "they", in German by the antecedent's gender: er, sie or es."""
    plural = antecedent.agreement == "we"
    return Pronoun(
        ("they", "them") if plural else ("it", "it"),
        _forms(german.personal_pronoun, antecedent),
        antecedent.agreement,
        antecedent.column,
    )


def person_pronoun(antecedent: Nominal) -> Pronoun:
    """Returns he, she or they for somebody; a neuter noun (the child) has none here.

    Raises:
        ValueError: The antecedent is neuter, so English would have to guess he or she.
    """
    for pronoun in (I, YOU, WE):
        if antecedent == pronoun:
            return pronoun
    if antecedent.column == "n":
        raise ValueError(
            f"Received the neuter antecedent {antecedent.english(subject=True)!r}; "
            "expected one with a natural gender. Choose another antecedent."
        )
    return {"m": HE, "f": SHE, "plural": THEY}[antecedent.column]


def relative_pronoun(antecedent: Nominal, *, person: bool) -> Pronoun:
    """Returns who, whom or that, in German by the antecedent's gender and number."""
    return Pronoun(
        ("who", "whom") if person else ("that", "that"),
        _forms(german.relative_pronoun, antecedent),
        antecedent.agreement,
        antecedent.column,
    )


def _forms(decline: Callable[[Case, Column], str], antecedent: Nominal) -> tuple[str, str, str]:
    """Declines a pronoun for its antecedent's gender and number."""
    column = antecedent.column
    return (
        decline("nominative", column),
        decline("accusative", column),
        decline("dative", column),
    )
