"""Warns of text in another script than its language is written in, from a small sample."""

import dataclasses
from collections.abc import Sequence

from absl import logging

from pipeline.cleaning.scripts import main_script, primary_code, script_share, scripts_of
from pipeline.corpora.blocks import Block
from pipeline.corpora.languages import NAMES, Languages, describe_language
from pipeline.corpora.spans import Span
from pipeline.dataset.schema import SIDES

_SAMPLED_BLOCKS = 8
_SAMPLED_BYTES = 1 << 14  # from the start of each
_LEAST_LETTERS = 20
_LEAST_LATIN = 0.5  # of the letters, for languages in Latin script
_LEAST_OTHER = 0.1  # for others, whose text may hold many Latin names


def warn_of_other_scripts(languages: Languages, blocks: Sequence[Block]) -> None:
    """Warns for each side whose letters mostly belong to no script of its language.

    Args:
        languages: languages of the text.
        blocks: blocks of the training text.
    """
    sample = blocks[:: max(1, len(blocks) // _SAMPLED_BLOCKS)]
    spans = [block.source for block in sample], [block.target for block in sample]
    for side, code, side_spans in zip(SIDES, languages.codes, spans, strict=True):
        text = " ".join(map(_read_start, side_spans))
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


def _read_start(span: Span) -> str:
    start = dataclasses.replace(span, size=min(span.size, _SAMPLED_BYTES))
    return start.read().decode("utf-8", "ignore")
