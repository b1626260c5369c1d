"""Parameter counts of our models, compared with the rows of the paper's Table 3."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from model.config import TransformerConfig
from model.transformer import Transformer
from pipeline.common.tables import format_table
from trainer.paper.results import BASE, PaperRow, estimate_paper_flops
from trainer.training.keras_hooks import never_allocating

_HEADER = (
    "row",
    "flagfile",
    "PPL",
    "BLEU",
    "params",
    "ours",
    "off",
    "−base",
    "ours",
    "FLOPs",
    "ours",
)
_ABSENT = "–"


class Comparison(NamedTuple):
    """A row of Table 3 and our model of the same configuration.

    row: the paper's row.
    parameters: our count, millions.
    from_base: the paper's and our difference from base, millions; None if the paper lists no count,
        or if d_model, and with it the embedding, differs.
    """

    row: PaperRow
    parameters: float
    from_base: tuple[int, float] | None


def compare(
    configs: dict[PaperRow, TransformerConfig], *, vocabulary_size: int
) -> list[Comparison]:
    """Counts the parameters of every row's model.

    Args:
        configs: the architecture of each row of Table 3, base among them.
        vocabulary_size: V, subwords.
    """
    counts = {
        row: count_parameters(config, vocabulary_size) / 1e6 for row, config in configs.items()
    }

    def from_base(row: PaperRow) -> tuple[int, float] | None:
        if row == BASE or configs[row].model_dim != configs[BASE].model_dim:
            return None
        if row.parameters is None or BASE.parameters is None:
            return None
        return row.parameters - BASE.parameters, counts[row] - counts[BASE]

    return [Comparison(row, count, from_base(row)) for row, count in counts.items()]


def count_parameters(config: TransformerConfig, vocabulary_size: int) -> int:
    """Counts the trainable weights of the model, without allocating them."""
    with never_allocating():
        model = Transformer(config, vocabulary_size)
    return sum(math.prod(variable.shape) for variable in model.trainable_variables)


def format_comparisons(comparisons: Sequence[Comparison]) -> str:
    """Returns the comparisons as a table of aligned columns, with a header."""
    return "\n".join(format_table([_HEADER, *map(_cells, comparisons)], text_columns=2))


def _cells(comparison: Comparison) -> tuple[str, ...]:
    row, parameters, from_base = comparison
    theirs, ours = from_base or (None, None)
    return (
        row.group,
        row.flagfile,
        f"{row.perplexity:.2f}",
        f"{row.bleu:.1f}",
        _format("{:.0f}", row.parameters),
        f"{parameters:.2f}",
        _format("{:+.1%}", parameters / row.parameters - 1 if row.parameters else None),
        _format("{:+.0f}", theirs),
        _format("{:+.2f}", ours),
        _format("{:.1e}", row.train_flops),
        _format("{:.2e}", estimate_paper_flops(row.train_hours) if row.train_hours else None),
    )


def _format(template: str, value: float | None) -> str:
    return _ABSENT if value is None else template.format(value)
