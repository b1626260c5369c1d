"""Tables of what was learned."""

from collections.abc import Iterator

from tests.benchmarks.record import ROOT, Record
from tests.benchmarks.record_tables import (
    Row,
    from_records,
    markdown,
    records_of,
)
from tests.benchmarks.table3_small import small_rows
from trainer.paper.system_table import read_our_rows, system_lines

_RESULT = "--output=tests/benchmarks/results"
_TABLE3_SMALL = (
    "python -m tests.benchmarks.table3_small --work_dir=runs/table3_small "
    f"{_RESULT}/table3_small.json"
)
_EXTRAPOLATION = (
    "python -m tests.benchmarks.extrapolation --work_dir=runs/extrapolation "
    f"{_RESULT}/extrapolation.json"
)

_PARSING = {
    "f1": "F1 (95 % interval)",
    "precision": "precision",
    "recall": "recall",
    "f1_40": "F1, up to 40 words",
    "exact_match": "exact match",
    "tagging_accuracy": "tagging accuracy",
    "no_repair": "without repair",
}


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


def parsers() -> str:
    """Returns the scores of parsers that were trained on the same trees."""
    header = ["parser", *_PARSING.values(), "p (F1 against the first)", "sentences", "record"]
    command = "python -m tests.benchmarks.parsers --help"
    return from_records("parsers", header, _parser_rows, command)


def table_2() -> str:
    """Returns Table 2: the paper's rows, then ours."""
    header, *rows = system_lines(read_our_rows(str(ROOT / "configs" / "results")))
    return markdown(header, rows)


def table3_small() -> str:
    """Returns Table 3 in small: the paper's figures, and ours."""
    header = [
        "",
        "row",
        "PPL, paper",
        "BLEU, paper",
        "PPL",
        "accuracy",
        "BLEU",
        "minutes",
        "record",
    ]
    return from_records("table3_small", header, _small_rows, _TABLE3_SMALL)


def extrapolation() -> str:
    """Returns BLEU by the length of the source, beyond that of training."""
    records = records_of("extrapolation")
    bins = next(iter(records[0]["results"].values())) if records else []
    columns = [f"up to {b['longest']} subwords: {b['sentences']} sentences" for b in bins]
    header = ["positions", *columns, "record"]
    return from_records("extrapolation", header, _extrapolation_rows, _EXTRAPOLATION)


def _small_rows(record: Record) -> Iterator[Row]:
    link = f"[{record['commit']}](../tests/benchmarks/results/{record['file']})"
    for row in small_rows():
        if scores := record["results"].get(row.name):
            yield [
                row.paper.group,
                row.name,
                f"{row.paper.perplexity:.2f}",
                f"{row.paper.bleu:.1f}",
                f"{scores['perplexity']:.3f}",
                f"{scores['accuracy']:.1%}",
                f"{scores['bleu']:.2f}",
                f"{scores['train_seconds'] / 60:.0f}",
                link,
            ]


def _extrapolation_rows(record: Record) -> Iterator[Row]:
    link = f"[{record['commit']}](../tests/benchmarks/results/{record['file']})"
    for name, bins in record["results"].items():
        yield [name, *(f"{b['bleu']:.1f} ({b['ratio']:.0%})" for b in bins), link]


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


def _parser_rows(record: Record) -> Iterator[Row]:
    link = f"[{record['commit']}](../tests/benchmarks/results/{record['file']})"
    for number, (system, entry) in enumerate(record["results"]["systems"].items()):
        metrics = entry["metrics"]
        scores = [f"{metrics[name]['score']:.1f}" if name in metrics else None for name in _PARSING]
        f1 = metrics["f1"]
        scores[0] = f"**{f1['score']:.1f}** ({f1['low']:.1f} to {f1['high']:.1f})"
        p_value = f"{entry['p_value']:.3f}" if number else None
        yield [system, *scores, p_value, record["results"]["sentences"], link]


def _ablation_rows(record: Record) -> Iterator[Row]:
    for change, scores in record["results"].items():
        dev, test = scores["dev"], scores["test"]
        figures = (dev["sacrebleu"], test["sacrebleu"], dev["perplexity"])
        minutes = f"{dev['train_seconds'] / 60:.1f}"
        yield [change, *(f"{figure:.2f}" for figure in figures), minutes]
