"""German inflection: articles, adjectives, nouns and verbs.

One rule gives all three adjective declensions: the first word of a noun phrase that can show
case takes the strong ending; adjectives after it take the weak one.
"""

from typing import Literal, NamedTuple

from pipeline.corpora.builtin.words import Adjective, Agreement, Case, Gender, Modal, Noun, Verb

# A column of the declension tables: a gender in the singular, or the plural.
Column = Literal["m", "f", "n", "plural"]

_COLUMNS: tuple[Column, ...] = ("m", "f", "n", "plural")
_ARTICLES: dict[Case, str] = {
    "nominative": "der die das die",
    "accusative": "den die das die",
    "dative": "dem der dem den",
}
_STRONG: dict[Case, str] = {
    "nominative": "er e es e",
    "accusative": "en e es e",
    "dative": "em er em en",
}
_WEAK: dict[Case, str] = {
    "nominative": "e e e en",
    "accusative": "en e e en",
    "dative": "en en en en",
}
_CONTRACTIONS = {
    "an dem": "am",
    "an das": "ans",
    "in dem": "im",
    "in das": "ins",
    "von dem": "vom",
    "zu dem": "zum",
    "zu der": "zur",
}
_PRONOUNS: dict[Case, str] = {
    "nominative": "er sie es sie",
    "accusative": "ihn sie es sie",
    "dative": "ihm ihr ihm ihnen",
}


class VerbGroup(NamedTuple):
    """The finite verb and the end of the clause (prefix, participle or infinitive)."""

    finite: str
    tail: str


def column(gender: Gender, *, plural: bool) -> Column:
    """Returns the column of the declension tables for a noun's gender and number."""
    return "plural" if plural else gender


def _cell(table: dict[Case, str], case: Case, where: Column) -> str:
    return table[case].split()[_COLUMNS.index(where)]


def definite_article(case: Case, where: Column) -> str:
    """Returns der, die, das, den or dem; also the relative pronoun."""
    return _cell(_ARTICLES, case, where)


def relative_pronoun(case: Case, where: Column) -> str:
    """Returns the definite article, except denen in the dative plural."""
    return "denen" if (case, where) == ("dative", "plural") else definite_article(case, where)


def personal_pronoun(case: Case, where: Column) -> str:
    """Returns the third-person pronoun that stands for a noun: er, ihn, ihm."""
    return _cell(_PRONOUNS, case, where)


def strong_ending(case: Case, where: Column) -> str:
    """Returns the ending that shows case: dieser, rotem, kalte."""
    return _cell(_STRONG, case, where)


def ein_ending(case: Case, where: Column) -> str:
    """Returns the ending of ein, kein, mein, …: strong, or none in ein Mann, ein Kind."""
    bare = (("nominative", "m"), ("nominative", "n"), ("accusative", "n"))
    return "" if (case, where) in bare else strong_ending(case, where)


def decline_adjective(adjective: Adjective, case: Case, where: Column, *, case_shown: bool) -> str:
    """Returns the adjective before a noun: weak if the determiner has shown the case."""
    ending = _cell(_WEAK if case_shown else _STRONG, case, where)
    return f"{adjective.stem or adjective.german}{ending}"


def decline_noun(noun: Noun, case: Case, *, plural: bool) -> str:
    """Returns the noun in a case: Hund, (den) Hunden, (den) Jungen."""
    if plural:
        needs_n = case == "dative" and not noun.plural.endswith(("n", "s"))
        return f"{noun.plural}n" if needs_n else noun.plural
    return noun.plural if noun.weak and case != "nominative" else noun.german


def contract(preposition: str, phrase: str) -> str:
    """Joins a preposition and a noun phrase that starts with an article: in dem → im."""
    article, _, rest = phrase.partition(" ")
    joined = _CONTRACTIONS.get(f"{preposition} {article}")
    return f"{joined} {rest}" if joined else f"{preposition} {phrase}"


def present(verb: Verb, agreement: Agreement) -> str:
    """Returns the present of a verb without its separable prefix: stehe, steht, stehen."""
    if verb.infinitive == "sein":
        return {"I": "bin", "you": "bist", "he": "ist", "we": "sind"}[agreement]
    if agreement == "you":
        return second_person(verb.third)
    # The first person of weiß, mag and will equals the third.
    if agreement == "he" or (agreement == "I" and not verb.third.endswith("t")):
        return verb.third
    if agreement == "we":
        return verb.infinitive
    # kaufen → kaufe, füttern → füttere
    return f"{verb.infinitive.removesuffix('n').removesuffix('e')}e"


def second_person(third: str) -> str:
    """Returns the form after du, from that after er: kauft → kaufst, isst → isst, kann → kannst."""
    stem = third.removesuffix("t")
    return f"{stem}t" if stem.endswith(("s", "ß", "z")) else f"{stem}st"


def present_group(verb: Verb, agreement: Agreement) -> VerbGroup:
    """Returns the present: steht … auf."""
    return VerbGroup(present(verb, agreement), verb.prefix)


def past_group(verb: Verb, agreement: Agreement) -> VerbGroup:
    """Returns the spoken past: hat … gekauft, ist … aufgestanden; but war for sein."""
    if verb.infinitive == "sein":
        return VerbGroup({"you": "warst", "we": "waren"}.get(agreement, "war"), "")
    forms = {
        "haben": {"I": "habe", "you": "hast", "he": "hat", "we": "haben"},
        "sein": {"I": "bin", "you": "bist", "he": "ist", "we": "sind"},
    }
    return VerbGroup(forms[verb.auxiliary][agreement], verb.participle)


def modal_group(verb: Verb, agreement: Agreement, *, modal: Modal, negated: bool) -> VerbGroup:
    """Returns a modal with its infinitive: kann … aufstehen."""
    singular, plural = modal.singular, modal.plural
    if negated and modal.negated_singular:
        singular, plural = modal.negated_singular, modal.negated_plural
    finite = {"you": second_person(singular), "we": plural}.get(agreement, singular)
    # Only werden is irregular here.
    if singular == "wird":
        finite = {"I": "werde", "you": "wirst"}.get(agreement, finite)
    return VerbGroup(finite, f"{verb.prefix}{verb.infinitive}")


def zu_infinitive(verb: Verb) -> str:
    """Returns the infinitive with zu, which separable verbs enclose: zu kaufen, anzurufen."""
    joined = f"{verb.prefix}zu{verb.infinitive}"
    return joined if verb.prefix else f"zu {verb.infinitive}"


def join_finite_last(group: VerbGroup, verb: Verb) -> str:
    """Returns the end of a subordinate clause: aufsteht, gekauft hat, kaufen kann."""
    if group.tail == verb.prefix:
        return f"{group.tail}{group.finite}"
    return f"{group.tail} {group.finite}"
