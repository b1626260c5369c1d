"""The files of an evaluation, as types: evaluation-NAME.json and evaluation-NAME.jsonl."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from model.config import SearchConfig
from pipeline.common.errors import UserError

MAIN_METRICS = {"bleu": "BLEU", "f1": "F1"}  # of a translator and of a parser, with their titles


@dataclasses.dataclass(frozen=True)
class MetricScore:
    """The score of a corpus.

    low, high: 95 % confidence interval by bootstrap resampling; None without resampling.
    signature: sacreBLEU's description of the metric, to be published with the score.
    """

    score: float
    low: float | None
    high: float | None
    signature: str


@dataclasses.dataclass(frozen=True)
class Significance:
    """A score compared with the score of baseline translations of the same source.

    p_value: probability of so large a difference by chance (paired bootstrap resampling, Koehn
        2004).
    """

    score: float
    baseline: float
    p_value: float


@dataclasses.dataclass(frozen=True)
class LengthBin:
    """BLEU of the sentences with `shortest` to `longest` words, split at spaces, in the source.

    longest: None for no upper bound.
    """

    shortest: int
    longest: int | None
    sentences: int
    bleu: float


@dataclasses.dataclass(frozen=True)
class CorpusScores:
    """Everything that is computed from translations and references alone.

    metrics: by name, `bleu` among them, or `f1` of trees.
    bleu_by_length: BLEU by words of the source; empty for trees.
    beside_baseline: comparison with another run's translations by metric; empty without one.
    robustness: BLEU of the same test set in variants (`text_variants`); empty if not asked for.
    """

    metrics: Mapping[str, MetricScore]
    bleu_by_length: tuple[LengthBin, ...]
    beside_baseline: Mapping[str, Significance] = dataclasses.field(default_factory=dict)
    robustness: Mapping[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class EvaluatedWeights:
    """Which weights were evaluated.

    step: update that they were saved after.
    averaged_steps: steps of the checkpoints that were averaged.
    ensemble: run directories of the other models, if there are any.
    train_seconds: time that they were trained for.
    dataset: fingerprint of the dataset whose subwords they use.
    """

    step: int
    averaged_steps: tuple[int, ...]
    ensemble: tuple[str, ...]
    train_seconds: float
    dataset: str


@dataclasses.dataclass(frozen=True)
class EvaluationResult:
    """The scores of a model on one test set.

    split: name of the test set.
    sentences: their number.
    scores: of the translations.
    weights: which were evaluated.
    search: how translations were searched for.
    nll: nats per target token by teacher forcing; None if the set is not part of the dataset.
    perplexity: its exponential.
    token_accuracy: share of target tokens that the model held most probable, as `nll`.
    """

    split: str
    sentences: int
    scores: CorpusScores
    weights: EvaluatedWeights
    search: SearchConfig
    nll: float | None = None
    perplexity: float | None = None
    token_accuracy: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns JSON values; the fields of `weights` and `search` are keys of their own."""
        scores = self.scores
        name = main_metric(scores.metrics)
        main = scores.metrics[name]
        values: dict[str, Any] = {
            "split": self.split,
            "sacrebleu" if name == "bleu" else name: main.score,
            "signature": main.signature,
            "sentences": self.sentences,
            "metrics": _to_dicts(scores.metrics),
            "bleu_by_length": [dataclasses.asdict(group) for group in scores.bleu_by_length],
        }
        if scores.beside_baseline:
            values["beside_baseline"] = _to_dicts(scores.beside_baseline)
        if scores.robustness:
            values["robustness"] = dict(scores.robustness)
        if self.nll is not None:
            names = ("nll", "perplexity", "token_accuracy")
            values |= {name: getattr(self, name) for name in names}
        return values | dataclasses.asdict(self.weights) | dataclasses.asdict(self.search)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "EvaluationResult":
        """Returns the result that `to_json` gave; settings of search that it lacks are defaults.

        Raises:
            KeyError, TypeError: a field is missing or unknown.
        """
        scores = CorpusScores(
            {name: MetricScore(**fields) for name, fields in values["metrics"].items()},
            tuple(LengthBin(**fields) for fields in values["bleu_by_length"]),
            {
                name: Significance(**fields)
                for name, fields in values.get("beside_baseline", {}).items()
            },
            values.get("robustness", {}),
        )
        weights = {name: values[name] for name in _field_names(EvaluatedWeights)}
        for name in ("averaged_steps", "ensemble"):
            weights[name] = tuple(weights[name])
        search = {name: values[name] for name in _field_names(SearchConfig) if name in values}
        return cls(
            split=values["split"],
            sentences=values["sentences"],
            scores=scores,
            weights=EvaluatedWeights(**weights),
            search=SearchConfig(**search),
            nll=values.get("nll"),
            perplexity=values.get("perplexity"),
            token_accuracy=values.get("token_accuracy"),
        )


@dataclasses.dataclass(frozen=True)
class TranslatedSentence:
    """A row of evaluation-NAME.jsonl.

    reference: the first, if there are several.
    score: log-probability of the translation in nats, divided by the length penalty.
    is_repaired: of a parser, whether its symbols had to be made a tree; else None.
    """

    source: str
    reference: str
    translation: str
    score: float
    is_repaired: bool | None = None


def result_path(directory: str | Path, split: str) -> Path:
    """Returns where the result on a test set is: in a run directory or an output directory."""
    return Path(directory) / f"evaluation-{_file_name(split)}.json"


def translations_path(directory: str | Path, split: str) -> Path:
    """Returns where the translations of a test set are, one JSON object per line."""
    return Path(directory) / f"evaluation-{_file_name(split)}.jsonl"


def format_translations(rows: Iterable[TranslatedSentence]) -> str:
    """Returns the text of evaluation-NAME.jsonl."""
    return "".join(json.dumps(_to_row(row), ensure_ascii=False) + "\n" for row in rows)


def read_translations(path: Path) -> list[TranslatedSentence]:
    """Reads evaluation-NAME.jsonl.

    Raises:
        UserError: it is damaged.
    """
    try:
        lines = path.read_text("utf-8").split("\n")
        return [TranslatedSentence(**json.loads(line)) for line in lines if line]
    except (TypeError, ValueError) as error:
        raise UserError(
            f"{path} cannot be read ({error}): evaluate again with trainer.evaluate"
        ) from error


def read_result(path: Path) -> EvaluationResult:
    """Reads evaluation-NAME.json.

    Raises:
        UserError: another version of this project wrote it.
    """
    try:
        return EvaluationResult.from_json(json.loads(path.read_text("utf-8")))
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{path} is not a result of this version of trainer.evaluate ({error!r}): evaluate "
            "again, or delete it"
        ) from error


def format_interval(metric: MetricScore) -> str:
    """Returns the confidence interval, such as "26.90 to 27.72"; empty without one."""
    return "" if metric.low is None else f"{metric.low:.2f} to {metric.high:.2f}"


def main_metric(values: Mapping[str, Any]) -> str:
    """Returns the name of the metric in `values` that compares models: a key of MAIN_METRICS."""
    return next(name for name in MAIN_METRICS if name in values)


def format_words(group: LengthBin) -> str:
    """Returns the lengths in a bin, such as "11 to 20", or "51 to …" for the longest."""
    return f"{group.shortest} to {group.longest or '…'}"


def _file_name(split: str) -> str:
    """Returns a name without separators, such as "sacrebleu-wmt14-full"."""
    return split.replace(":", "-").replace("/", "-")


def _to_dicts(scores: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: dataclasses.asdict(score) for name, score in scores.items()}


def _to_row(sentence: TranslatedSentence) -> dict[str, Any]:
    """Returns the fields that have a value."""
    values = dataclasses.asdict(sentence)
    return {name: value for name, value in values.items() if value is not None}


def _field_names(config: type) -> list[str]:
    return [field.name for field in dataclasses.fields(config)]
