"""The report of a run: results first, then curves, translations, attention, settings and data."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pipeline.common.progress import format_duration
from pipeline.dataset.schema import Dataset
from trainer.evaluation.result import MAIN_METRICS, TranslatedSentence
from trainer.inference.sentence_attention import SentenceAttention
from trainer.pages import attention_viewer
from trainer.pages.curves import draw_curves
from trainer.pages.html import escape, fold, page, table
from trainer.pages.mixture import mixture_table
from trainer.pages.results import (
    count_training_tokens,
    format_candidates,
    format_headline,
    format_test_sets,
    read_results,
    read_training,
)
from trainer.runs.checkpoint_files import list_best, list_checkpoints
from trainer.runs.metrics_log import read_metrics
from trainer.runs.run_directory import Run

_CURVES_NOTE = (
    "Horizontally: updates. A dot marks the best value. Point at a chart to read its values."
)


@dataclasses.dataclass(frozen=True)
class Illustrations:
    """What the model of a run does with text.

    samples: translated sentences of dev.
    attention: sentences with their attention weights.
    """

    samples: Sequence[TranslatedSentence]
    attention: Sequence[SentenceAttention]


def report_page(
    run: Run, *datasets: Dataset, parameters: int, card: str, illustrations: Illustrations
) -> str:
    """Returns the page.

    Args:
        run: the run to report.
        datasets: its dataset, or all datasets of a mixture.
        parameters: number of weights of the model.
        card: the data card of the first dataset as text.
        illustrations: translations and attention.
    """
    training, results = read_training(run), read_results(run)
    figures = format_headline(
        training,
        results,
        planned=run.training.train_steps,
        tokens=count_training_tokens(run, datasets, training.updates),
    )
    curves = draw_curves(read_metrics(run.directory))
    sections = {
        "Test sets": format_test_sets(results),
        "Curves": curves and f'<p class="note">{_CURVES_NOTE}</p>\n{curves}',
        "Translations": _samples(illustrations.samples),
        "Attention": attention_viewer.viewers(illustrations.attention),
        "Checkpoints": _checkpoints(run) + format_candidates(training),
        "Configuration": _configuration(run),
        "Data": mixture_table(run, datasets) + fold("Data card", f"<pre>{escape(card)}</pre>"),
    }
    return page(
        f"{run.directory.name}: {run.data.source_language} → {run.data.target_language}",
        {heading: content for heading, content in sections.items() if content},
        introduction=f"{_model_and_data(run, datasets, parameters)}\n{figures}",
        scripts=["charts.js", "attention_viewer.js"],
    )


def _model_and_data(run: Run, datasets: Sequence[Dataset], parameters: int) -> str:
    model = run.transformer
    depths = " + ".join(map(str, dict.fromkeys(model.depths)))  # "6", or "6 + 2"
    pairs = sum(dataset.splits["train"].pairs for dataset in datasets)
    sizes = dict.fromkeys(f"{vocabulary.size:,}" for vocabulary in run.data.vocabularies.values())
    text = (
        f"Transformer of {parameters / 1e6:.1f} M parameters (N={depths}, "
        f"d_model={model.model_dim}, d_ff={model.feed_forward_dim}, h={model.num_heads}) · "
        f"data {' and '.join(dataset.name for dataset in datasets)}: {pairs:,} training pairs, "
        f"{' and '.join(sizes)} subwords"
    )
    if run.origin:
        text += f" · started from {run.origin.path}, step {run.origin.step:,}"
    return f'<p class="subject">{escape(text)}</p>'


def _checkpoints(run: Run) -> str:
    """Returns a table of all steps that were evaluated or kept; empty without any."""
    metrics = read_metrics(run.directory)
    metric = "f1" if "dev/f1" in metrics else "bleu"
    perplexity, scores = (dict(metrics.get(f"dev/{name}", ())) for name in ("perplexity", metric))
    saved = {checkpoint.step: checkpoint for checkpoint in list_checkpoints(run.directory)}
    best = {checkpoint.step for checkpoint in list_best(run.directory)}
    folders = {"checkpoint": saved, "best": best}
    rows = [
        [
            step,
            format_duration(saved[step].train_seconds) if step in saved else None,
            ", ".join(name for name, steps in folders.items() if step in steps) or None,
            perplexity.get(step),
            scores.get(step),
        ]
        for step in sorted(saved.keys() | best | scores.keys())
    ]
    if not rows:
        return ""
    title = f"dev {MAIN_METRICS[metric]}"
    return table(["step", "trained for", "kept as", "dev perplexity", title], rows)


def _samples(samples: Sequence[TranslatedSentence]) -> str:
    rows = ((sample.source, sample.reference, sample.translation) for sample in samples)
    return table(("source", "reference", "translation"), rows, classes="stacked")


def _configuration(run: Run) -> str:
    """Returns what differs from the defaults, which are the paper's; folded, every setting."""
    configs = {"Model": run.transformer, "Training": run.training, "Search": run.search}
    changed = [row for config in configs.values() for row in _changed_flags(config)]
    note = '<p class="note">Settings that differ from the paper\'s base model.</p>'
    return "\n".join(
        [
            f"{note}\n{table(['flag', 'value', 'default'], changed, classes='flags stacked')}",
            *(
                fold(f"{title}: all settings", _flag_table(config))
                for title, config in configs.items()
            ),
        ]
    )


def _changed_flags(config: Any) -> Iterator[Sequence[str]]:
    defaults = type(config)()
    for field in dataclasses.fields(config):
        value, default = getattr(config, field.name), getattr(defaults, field.name)
        if value != default:
            yield f"--{field.name}", _format_setting(value), _format_setting(default)


def _flag_table(config: Any) -> str:
    rows: Iterable[Sequence[str]] = (
        (
            f"--{field.name}",
            _format_setting(getattr(config, field.name)),
            field.metadata["help"],
        )
        for field in dataclasses.fields(config)
    )
    return table(["flag", "value", "meaning"], rows, classes="flags stacked")


def _format_setting(value: object) -> str:
    return "none" if value in (None, "", ()) else str(value)
