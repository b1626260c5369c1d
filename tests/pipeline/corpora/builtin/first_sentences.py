"""Forty sentences that people type first into a translator, with the translations to accept."""

from pathlib import Path

from pipeline.corpora.builtin.corpus import END_MARKS

_FILE = Path(__file__).with_name("first_sentences.tsv")


def load_first_sentences() -> dict[str, list[str]]:
    """Returns the accepted German translations of each English sentence, the usual one first."""
    lines = _FILE.read_text("utf-8").splitlines()
    return {source: targets for source, *targets in (line.split("\t") for line in lines)}


def is_accepted(source: str, translation: str, accepted: list[str]) -> bool:
    """Whether a translation is right; a source without end mark leaves it to the translation."""
    if source[-1] in END_MARKS:
        return translation in accepted
    return translation.rstrip(END_MARKS) in accepted
