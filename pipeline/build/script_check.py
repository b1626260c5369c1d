"""Warns of text in another script than its language is written in, from a small sample."""

from collections.abc import Sequence

from absl import logging

from pipeline.cleaning.scripts import main_script, primary_code, script_share, scripts_of
from pipeline.corpora.inputs import Input
from pipeline.corpora.languages import NAMES, Languages, describe_language
from pipeline.dataset.schema import SIDES

_SAMPLED_INPUTS = 8
_SAMPLED_PAIRS = 200  # from the start of each
_LEAST_LETTERS = 20
_LEAST_LATIN = 0.5  # of the letters, for languages in Latin script
_LEAST_OTHER = 0.1  # for others, whose text may hold many Latin names


def warn_of_other_scripts(languages: Languages, inputs: Sequence[Input]) -> None:
    """Warns for each side whose letters mostly belong to no script of its language.

    Args:
        languages: languages of the text.
        inputs: the training text.

    Raises:
        UserError: an input is missing or broken.
    """
    sample = inputs[:: max(1, len(inputs) // _SAMPLED_INPUTS)]
    pairs = [pair for each in sample for pair in each.read_start(_SAMPLED_PAIRS)]
    for side, code, column in zip(SIDES, languages.codes, (0, 1), strict=True):
        text = " ".join(pair[column] for pair in pairs)
        scripts = scripts_of(code)
        least = _LEAST_LATIN if "Latin" in scripts else _LEAST_OTHER
        is_judged = primary_code(code) in NAMES and sum(map(str.isalpha, text)) >= _LEAST_LETTERS
        if is_judged and script_share(text, scripts) < least:
            logging.warning(
                "the %s text is mostly in %s script, but %s is written in %s: check "
                "--%s_language=%s and the order of the files",
                side,
                main_script(text),
                describe_language(code),
                " or ".join(sorted(scripts)),
                side,
                code,
            )
