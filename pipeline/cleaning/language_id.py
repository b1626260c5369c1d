"""Languages of sentences: enough to notice one that is not in the language it should be in.

Asks py3langid, which is an extra: a naive Bayes classifier over byte n-grams (Lui & Baldwin 2012)
of 139 languages, its model inside the package. It gives the same answer everywhere.
"""

import functools
import importlib
import re
from collections.abc import Sequence
from typing import Protocol

from pipeline.cleaning.scripts import primary_code
from pipeline.common.errors import UserError

# With these, of 13,500 lines of Hansard and WMT news under 0.05 % are thought to be in another
# language; of the news, declared as another of English, French and German, 96 to 99 %.
LEAST_LETTERS = 12  # less text says too little
LEAST_RATIO = 10  # of the probabilities of another language and the declared one

_WORD = re.compile(r"[^\W\d_]+")


class Identifier(Protocol):
    """What is asked of a library: py3langid's class of the same method and property."""

    @property
    def labels(self) -> Sequence[str]:
        """Returns the codes of the languages that it knows."""

    def rank(self, text: str) -> Sequence[tuple[str, float]]:
        """Returns each language and its probability, the most probable first."""


def is_in_another_language(text: str, language: str, identifier: Identifier) -> bool:
    """Returns whether another language is at least ten times as probable as the declared one.

    Args:
        text: a sentence; one with fewer than 12 letters in words that do not start with a capital,
          such as a list of names, is not judged.
        language: its declared language, a code such as "de" or "pt-BR".
        identifier: see `load_identifier`.
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
        UserError: the library is not installed.
    """
    try:
        langid = importlib.import_module("py3langid.langid")
    except ImportError as error:
        raise UserError(
            "--identify_languages needs the library py3langid: pip install py3langid"
        ) from error
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)


def check_languages(languages: Sequence[str], identifier: Identifier) -> None:
    """Raises UserError for a language code that the identifier does not know."""
    for language in languages:
        if primary_code(language) not in identifier.labels:
            raise UserError(
                f"--identify_languages does not know the language {language}: "
                f"expected one of {' '.join(sorted(identifier.labels))}; leave the flag out"
            )
