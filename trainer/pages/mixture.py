"""The datasets of a mixture, as a table of a run's report."""

from collections.abc import Sequence

from pipeline.dataset.schema import Dataset
from trainer.data.mixture import (
    count_target_tokens,
    name_datasets,
    passes_per_epoch,
    token_shares,
)
from trainer.pages.html import table
from trainer.runs.metrics_log import read_metrics
from trainer.runs.run_directory import Run
from trainer.training.share_logging import METRIC

_HEADER = (
    *("dataset", "languages", "training pairs", "target tokens", "passes an epoch"),
    *("share, planned", "share, measured"),
)


def mixture_table(run: Run, datasets: Sequence[Dataset]) -> str:
    """Returns a row for each dataset; empty for a run on one dataset."""
    if len(datasets) < 2:
        return ""
    metrics = read_metrics(run.directory)
    columns = (
        name_datasets(run.training.dataset_dirs),
        datasets,
        token_shares(datasets, run.training),
        passes_per_epoch(datasets, run.training),
    )
    rows = []
    for name, dataset, share, passes in zip(*columns, strict=True):
        measured = [value for _, value in metrics.get(f"{METRIC}{name}", ())]
        rows.append(
            [
                name,
                f"{dataset.source_language} → {dataset.target_language}",
                f"{dataset.splits['train'].pairs:,}",
                f"{count_target_tokens(dataset):,}",
                f"{float(passes):.2f}",
                f"{float(share):.1%}",
                f"{sum(measured) / len(measured):.1%}" if measured else None,
            ]
        )
    return table(_HEADER, rows, classes="numbers stacked")
