"""Language identification: detects sentences that are not in their declared language.

It uses the optional library py3langid, a naive Bayes classifier over byte n-grams (Lui & Baldwin
2012) for 139 languages, whose model is inside the package. Results are equal on every machine.
"""

import functools
import importlib
import re
from collections.abc import Sequence
from typing import Protocol

from pipeline.cleaning.scripts import primary_code
from pipeline.common.errors import ResumableError, UserError

# With these limits, under 0.05 % of 13,500 lines of Hansard and WMT news are judged to be in
# another language; of the news with a wrong one of English, French and German declared, 96 to 99 %.
LEAST_LETTERS = 12  # shorter text is not judged
LEAST_RATIO = 10  # probability of another language over that of the declared one

_WORD = re.compile(r"[^\W\d_]+")


class Identifier(Protocol):
    """Interface of a language identifier: the part of py3langid's class that is used."""

    @property
    def labels(self) -> Sequence[str]:
        """Returns the codes of the supported languages."""

    def rank(self, text: str) -> Sequence[tuple[str, float]]:
        """Returns each language and its probability, the most probable first."""


def is_in_another_language(text: str, language: str, identifier: Identifier) -> bool:
    """Returns whether another language is at least ten times as probable as the declared one.

    Args:
        text: sentence; it is not judged if words without a capital have fewer than 12 letters, as
          in a list of names.
        language: declared language, a code such as "de" or "pt-BR".
        identifier: language identifier, from `load_identifier`.
    """
    words = _WORD.findall(text)
    if sum(len(word) for word in words if not word[0].isupper()) < LEAST_LETTERS:
        return False
    ranked = identifier.rank(text)
    return ranked[0][1] >= LEAST_RATIO * dict(ranked)[primary_code(language)]


@functools.cache
def load_identifier() -> Identifier:
    """Returns py3langid's identifier.

    Raises:
        ResumableError: the library is not installed.
    """
    try:
        langid = importlib.import_module("py3langid.langid")
    except ImportError as error:
        raise ResumableError(
            "--identify_languages requires the library py3langid: pip install py3langid"
        ) from error
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)


def check_languages(languages: Sequence[str], identifier: Identifier) -> None:
    """Raises UserError for a language code that the identifier does not support."""
    for language in languages:
        if primary_code(language) not in identifier.labels:
            raise UserError(
                f"--identify_languages does not support the language {language}: "
                f"expected one of {' '.join(sorted(identifier.labels))}; leave the flag out"
            )
