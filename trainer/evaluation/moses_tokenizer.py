"""The tokens of the paper's BLEU: Moses' tokens, compounds split at hyphens.

Tensor2Tensor's `get_ende_bleu.sh`, which measured the BLEU of §6.1, runs Moses'
`replace-unicode-punctuation.perl` and `tokenizer.perl`, then splits compounds. sacremoses ports the
scripts of that time: its German tokens equal theirs on all 17,573 lines of the news tests 2008 to
2013 and of Multi30k. Since November 2018 Moses also splits the full stop off an abbreviation at the
end of a sentence (its pull request 204); sacremoses, like the paper's Moses, does not.
"""

import functools
import re

from sacremoses import MosesPunctNormalizer, MosesTokenizer


def moses_tokenize(text: str, language: str) -> str:
    """Splits text into words and punctuation, one space between them.

    `moses_tokenize("Es kostet ca. 5,30 Euro (am 3. Mai).", "de")` is
    `"Es kostet ca. 5,30 Euro ( am 3. Mai ) ."`. Special characters are not escaped as XML, which
    changes no score.

    Args:
        text: one sentence.
        language: a code such as "de"; abbreviations and apostrophes differ between languages.
            A language without a list of abbreviations uses the English one, as in Moses.
    """
    punctuation, tokenizer = _load(language)
    return " ".join(tokenizer.tokenize(punctuation.replace_unicode_punct(text), escape=False))


def split_compounds(tokens: str) -> str:
    """Splits words at hyphens: `"rich-text format"` is `"rich ##AT##-##AT## text format"`."""
    return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", tokens)


@functools.cache
def _load(language: str) -> tuple[MosesPunctNormalizer, MosesTokenizer]:
    return MosesPunctNormalizer(language), MosesTokenizer(language)
