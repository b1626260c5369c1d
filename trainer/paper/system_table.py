"""Table 2 of the paper, with our results on the same test sets."""

import json
from collections.abc import Sequence
from pathlib import Path

from pipeline.common.errors import UserError
from pipeline.common.tables import format_table
from trainer.paper.results import TABLE_2, SystemRow

_HEADER = ("newstest2014", "EN-DE", "EN-FR", "FLOPs EN-DE", "FLOPs EN-FR")
_ABSENT = "–"
# Our results, by model: files of English–German and of English–French.
_FILES = {"base": ("base", "base_en_fr"), "big": ("big", "big_en_fr")}


def read_our_rows(results_dir: str) -> list[SystemRow]:
    """Returns our rows; a result that does not exist, or is not yet run, is None.

    Args:
        results_dir: folder of results such as `base.json`, with `bleu`.

    Raises:
        UserError: there is no such folder.
    """
    folder = Path(results_dir)
    if not folder.is_dir():
        raise UserError(
            f"received --results_dir={results_dir}: expected a folder of results, such as "
            "configs/results of the repository"
        )
    return [
        SystemRow(f"Beamformer, {model}", *(_read_bleu(folder / f"{name}.json") for name in names))
        for model, names in _FILES.items()
    ]


def format_systems(ours: Sequence[SystemRow]) -> str:
    """Returns the paper's rows, then ours, as a table of aligned columns."""
    return "\n".join(format_table(system_lines(ours)))


def system_lines(ours: Sequence[SystemRow]) -> list[tuple[str, ...]]:
    """Returns the header, the paper's rows, then ours, as cells of text."""
    return [_HEADER, *map(_cells, (*TABLE_2, *ours))]


def _read_bleu(path: Path) -> float | None:
    return json.loads(path.read_text(encoding="utf-8"))["bleu"] if path.exists() else None


def _cells(row: SystemRow) -> tuple[str, ...]:
    bleu = (_format("{:.2f}", value) for value in (row.bleu_en_de, row.bleu_en_fr))
    flops = (_format("{:.1e}", value) for value in (row.flops_en_de, row.flops_en_fr))
    return (row.name, *bleu, *flops)


def _format(template: str, value: float | None) -> str:
    return _ABSENT if value is None else template.format(value)
