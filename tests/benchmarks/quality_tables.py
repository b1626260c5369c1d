"""Tables of what was learned, and of what learning takes."""

from collections.abc import Iterator, Mapping

from tests.benchmarks.record import Record
from tests.benchmarks.record_tables import (
    Row,
    from_records,
    markdown,
    records_of,
)

_P100_HOURS = {"base": 12, "big": 84}  # §5.2, on eight
_PEAKS = {"8 × A100": 8 * 312e12, "8 × H100 or H200": 8 * 989e12, "1 × H200": 989e12}  # bfloat16
_P100_PEAK = 8 * 10.6e12  # float32
_SHARES = (0.4, 0.2)  # of the peak
_BYTES_PER_PARAMETER = 16  # weight, gradient and Adam's two moments in float32


def ctranslate2_agreement() -> str:
    """Returns the share of equal translations."""
    header = ["beam", "length penalty α", "float32", "int8", "record"]
    command = (
        "python -m tests.benchmarks.ctranslate2_agreement runs/demo data/demo/test/source.txt "
        "--output=tests/benchmarks/results/ctranslate2_agreement.json"
    )
    return from_records("ctranslate2_agreement", header, _agreement_rows, command)


def learning_curve() -> str:
    """Returns BLEU by updates beside OpenNMT-tf."""
    records = records_of("learning_curve")
    checkpoints = list(next(iter(records[0]["results"].values()))) if records else []
    header = ["updates", *checkpoints, "record"]
    return from_records("learning_curve", header, _learning_rows)


def ablation() -> str:
    """Returns BLEU with one thing changed at a time."""
    header = ["change", "BLEU, dev", "BLEU, test", "perplexity, dev", "minutes"]
    return from_records("ablation", header, _ablation_rows)


def projection() -> str:
    """Returns what the paper's trainings take on GPUs."""
    records = records_of("projection")
    rows = [row for record in records for row in _projection_rows(record["results"])]
    return markdown(["", *(records[-1]["results"] if records else ())], rows)


def _agreement_rows(record: Record) -> Iterator[Row]:
    shares = {
        (entry["beam_size"], entry["length_penalty"], entry["weights"]): entry["share"]
        for entry in record["results"]["same_text"]
    }
    link = f"[{record['commit']}](../tests/benchmarks/results/{record['file']})"
    for beam_size, penalty in dict.fromkeys(key[:2] for key in shares):
        cells = [f"{shares[beam_size, penalty, weights]:.1%}" for weights in ("float32", "int8")]
        yield [beam_size, penalty, *cells, link]


def _learning_rows(record: Record) -> Iterator[Row]:
    link = f"[{record['commit']}](../tests/benchmarks/results/{record['file']})"
    for system, scores in record["results"].items():
        yield [system, *(f"{score:.2f}" for score in scores.values()), link]


def _ablation_rows(record: Record) -> Iterator[Row]:
    for change, scores in record["results"].items():
        dev, test = scores["dev"], scores["test"]
        figures = (dev["sacrebleu"], test["sacrebleu"], dev["perplexity"])
        minutes = f"{dev['train_seconds'] / 60:.1f}"
        yield [change, *(f"{figure:.2f}" for figure in figures), minutes]


def _projection_rows(models: Mapping[str, Mapping[str, float]]) -> Iterator[Row]:
    operations = {
        name: model["updates"] * model["operations_per_update"] for name, model in models.items()
    }
    yield [
        "updates × tokens of both sides",
        *(f"{model['updates']:,} × {model['tokens_per_update']:,}" for model in models.values()),
    ]
    yield ["operations of a training", *(f"{count:.1e}" for count in operations.values())]
    yield [
        "weights, gradients, Adam on each GPU",
        *(
            f"{_BYTES_PER_PARAMETER * model['parameters'] / 1e9:.1f} GB"
            for model in models.values()
        ),
    ]
    yield [
        "share of peak of the paper's 8 × P100",
        *(
            f"{count / (3600 * _P100_HOURS[name] * _P100_PEAK):.0%} in {_P100_HOURS[name]} h"
            for name, count in operations.items()
        ),
    ]
    for device, peak in _PEAKS.items():
        yield [
            f"{device} at 40 to 20 %",
            *(
                " to ".join(f"{count / (3600 * share * peak):.1f}" for share in _SHARES) + " h"
                for count in operations.values()
            ),
        ]
