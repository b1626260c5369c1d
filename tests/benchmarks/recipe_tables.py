"""Tables of configs/recipes/README.md, from the record of `tests.benchmarks.recipes`."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tests.benchmarks.record import Record
from tests.benchmarks.record_tables import Row, from_records, machine_name

Runs = Mapping[str, Any]

_COMMAND = (
    "python -m tests.benchmarks.recipes --data=DIR --work_dir=runs/benchmark "
    "--output=tests/benchmarks/results/recipes.json"
)
_NOT_RUN = "not yet run"
_ENGINES = ("ours", "CTranslate2, float32", "CTranslate2, int8")


def recipe_multilingual() -> str:
    """Returns BLEU of one model for two languages beside two single ones."""
    header = ["model", "parameters", "updates", "BLEU, German", "BLEU, French", "record"]
    return _table(header, _multilingual_rows)


def recipe_deep_encoder() -> str:
    """Returns BLEU and speed of two shapes of equal depth."""
    header = ["layers", "parameters", "BLEU", *(f"sentences/s, {name}" for name in _ENGINES)]
    return _table([*header, "record"], _deep_encoder_rows)


def recipe_fine_tuning() -> str:
    """Returns scores on both domains, before and after fine-tuning."""
    header = ["model", "updates", "BLEU, captions", "BLEU, general dev", "perplexity, general dev"]
    return _table([*header, "record"], _fine_tuning_rows)


def recipe_back_translation() -> str:
    """Returns BLEU with and without back-translations."""
    header = ["trained on", "updates", "BLEU", "p of the difference", "record"]
    return _table(header, _back_translation_rows)


def recipe_distillation() -> str:
    """Returns size, BLEU and speed of teacher and students by engine."""
    header = ["model", "parameters", "engine", "weights, MiB", "BLEU", "sentences/s", "record"]
    return _table(header, _distillation_rows)


def _table(header: Sequence[str], make_rows: Callable[[Record], Iterator[Row]]) -> str:
    return from_records("recipes", header, make_rows, _COMMAND)


def _multilingual_rows(record: Record) -> Iterator[Row]:
    runs: Runs = record["results"]["runs"]
    names = (
        ("German alone", "de", {"German": "test"}),
        ("French alone", "fr", {"French": "test"}),
        ("both, by tags", "multilingual", {"German": "de/test", "French": "fr/test"}),
    )
    for label, name, test_sets in names:
        cells = [
            _bleu(runs, name, test_sets[language]) if language in test_sets else None
            for language in ("German", "French")
        ]
        yield [label, *_size(runs, name), *cells, _link(record)]


def _deep_encoder_rows(record: Record) -> Iterator[Row]:
    runs: Runs = record["results"]["runs"]
    for label, name in (("4 + 4", "de"), ("6 + 2", "deep_encoder")):
        bleu = _bleu(runs, name, "test") or _NOT_RUN
        speeds = [_speed(record, name, engine) for engine in _ENGINES]
        yield [label, _size(runs, name)[0], bleu, *speeds, _link(record)]


def _fine_tuning_rows(record: Record) -> Iterator[Row]:
    runs: Runs = record["results"]["runs"]
    labels = {
        "finetune_general": "general model",
        "finetune_captions": "fine-tuned on captions",
        "finetune_mixed": "fine-tuned on captions, a quarter general",
        "finetune_scratch": "captions from scratch",
    }
    for name, label in labels.items():
        _, updates = _size(runs, name)
        captions, general = (_bleu(runs, name, end) for end in ("captions/test", "general/dev"))
        perplexity = _score(runs, name, "general/dev", "perplexity")
        yield [label, updates, captions, general, _fixed(perplexity), _link(record)]


def _back_translation_rows(record: Record) -> Iterator[Row]:
    runs: Runs = record["results"]["runs"]
    labels = {
        "real": "5,000 pairs",
        "back_translation": "as many target tokens back-translated too",
    }
    for name, label in labels.items():
        _, updates = _size(runs, name)
        p_value = _score(runs, name, "test", "p_value")
        yield [label, updates, _bleu(runs, name, "test"), _fixed(p_value, 3), _link(record)]


def _distillation_rows(record: Record) -> Iterator[Row]:
    runs: Runs = record["results"]["runs"]
    labels = {
        "de": "teacher",
        "student": "student, real pairs",
        "distillation": "student, distilled",
    }
    for name, label in labels.items():
        parameters, _ = _size(runs, name)
        for engine in _ENGINES if name in runs else (_NOT_RUN,):
            figures = _speeds(record).get(name, {}).get(engine, {})
            size, bleu = (_fixed(figures.get(key)) for key in ("mib", "bleu"))
            speed = _speed(record, name, engine)
            yield [label, parameters, engine, size, bleu, speed, _link(record)]


def _size(runs: Runs, name: str) -> tuple[str, str]:
    """Formats parameters and updates."""
    if name not in runs:
        return "", _NOT_RUN
    return f"{runs[name]['parameters'] / 1e6:.2f} M", f"{runs[name]['updates']:,}"


def _bleu(runs: Runs, name: str, test_set: str) -> str | None:
    """Formats BLEU with its 95 % confidence interval."""
    bleu, low, high = (_score(runs, name, test_set, key) for key in ("bleu", "low", "high"))
    if bleu is None:
        return None
    return f"{bleu:.1f}" if low is None else f"{bleu:.1f} ({low:.1f} to {high:.1f})"


def _score(runs: Runs, name: str, test_set: str, key: str) -> float | None:
    value = runs.get(name, {}).get("scores", {}).get(test_set, {}).get(key)
    return None if value is None else float(value)


def _speeds(record: Record) -> Mapping[str, Any]:
    speeds: Mapping[str, Any] = record["results"].get("speeds", {})
    return speeds


def _speed(record: Record, run: str, engine: str) -> str | None:
    figures = _speeds(record).get(run, {}).get(engine)
    if figures is None:
        return None
    return f"{record['results']['sentences'] / statistics.median(figures['seconds']):,.0f}"


def _fixed(value: float | None, digits: int = 1) -> str | None:
    return None if value is None else f"{value:.{digits}f}"


def _link(record: Record) -> str:
    path = f"../../tests/benchmarks/results/{record['file']}"
    return f"[{record['commit']}]({path}), {machine_name(record)}"
