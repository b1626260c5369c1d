"""Writes the tables of the documents from committed JSON.

    python -m tests.benchmarks.tables

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->` in a document; NAME is a
key of `TABLES`. Benchmarks' records are in tests/benchmarks/results, results of training in
configs/results. A table without records names the command that makes one.
"""

import argparse
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tests.benchmarks import training_results
from tests.benchmarks.record import ROOT, Record, read_records

DOCUMENTS = (
    "BUILD.md",
    "README.md",
    "configs/RESULTS.md",
    "serving/README.md",
    "tests/benchmarks/RESULTS.md",
)
MAX_README_ROWS = 8

_TABLE = re.compile(
    r"(?<=<!-- table: )(?P<name>[a-z_0-9]+)( -->\n).*?(?=<!-- end of table -->)", re.DOTALL
)
_TRAINERS = (
    "ours, float32",
    "ours, bfloat16",
    "OpenNMT-tf",
    "OpenNMT-py",
    "MarianMT",
    "torch.nn.Transformer",
)
_DECODERS = (
    "ours, in process",
    "ours, SavedModel",
    "CTranslate2, float32",
    "CTranslate2, int8",
    "OpenNMT-py",
)
_LENGTHS = ("16", "32", "64", "128", "256")
_P100_HOURS = {"base": 12, "big": 84}  # §5.2, on eight
_PEAKS = {"8 × A100": 8 * 312e12, "8 × H100 or H200": 8 * 989e12, "1 × H200": 989e12}  # bfloat16
_P100_PEAK = 8 * 10.6e12  # float32
_SHARES = (0.4, 0.2)  # of the peak
_BYTES_PER_PARAMETER = 16  # weight, gradient and Adam's two moments in float32

Row = Sequence[object]


def main() -> None:
    """Rewrites the documents whose tables have changed."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    for name in DOCUMENTS:
        path = ROOT / name
        old = path.read_text(encoding="utf-8")
        new = fill(old)
        if new != old:
            path.write_text(new, encoding="utf-8")
            print(f"written: {name}")


def fill(document: str) -> str:
    """Returns a document with every table as its records have it.

    Raises:
        KeyError: a table has an unknown name.
    """
    return _TABLE.sub(lambda match: f"{match['name']}{match[2]}{TABLES[match['name']]()}", document)


def markdown(header: Sequence[str], rows: Sequence[Row]) -> str:
    """Returns a table; an empty cell is None."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(
        f"| {' | '.join('' if cell is None else str(cell) for cell in line)} |\n" for line in lines
    )


def from_records(
    benchmark: str,
    header: Sequence[str],
    make_rows: Callable[[Record], Iterator[Row]],
    command: str | None = None,
) -> str:
    """Returns a table of all records of a benchmark, or the command that would make one."""
    rows = [row for record in _records(benchmark) for row in make_rows(record)]
    if not rows:
        return f"No record yet: `{command or f'python -m tests.benchmarks.{benchmark} --help'}`\n"
    return markdown(header, rows)


def training() -> str:
    """Returns real tokens per second of every contender in training."""
    header = ["machine", "model", *_TRAINERS, "ratio", "share of peak", "rounds", "record"]
    return from_records("training", header, _training_rows, _command("training"))


def decoding() -> str:
    """Returns sentences per second."""
    header = ["machine", "model", "search", *_DECODERS, "rounds", "record"]
    return from_records("decoding", header, _decoding_rows, _command("decoding"))


def latency() -> str:
    """Returns p50 and p95 of single sentences."""
    header = ["machine", "model", "search", *_DECODERS[:-1], "record"]
    return from_records("decoding", header, _latency_rows, _command("decoding"))


def time_by_length() -> str:
    """Returns the time of a token by the length of the translations."""
    header = ["machine", "model", "search", "system", *_LENGTHS, "record"]
    return from_records("decoding", header, _length_rows, _command("decoding"))


def decoding_memory() -> str:
    """Returns the memory of a process that translates on and on."""
    header = ["machine", "sentences", "resident MiB", "record"]
    return from_records("decoding", header, _memory_rows, _command("decoding"))


def preprocessing() -> str:
    """Returns speed and memory of whole preprocessing runs."""
    header = ["machine", "corpus", "system", "wall s", "CPU s", "lines/s"]
    header += ["CPU µs/line", "largest process, MiB", "rounds", "record"]
    return from_records("preprocess", header, _preprocessing_rows, _command("preprocess"))


def encoding() -> str:
    """Returns the speed of the encoding stage, and how full rows are."""
    header = ["machine", "encode and write, lines/CPU s", "SentencePiece alone, lines/CPU s"]
    header += ["real positions of rows", "record"]
    return from_records("preprocess", header, _encoding_rows, _command("preprocess"))


def optimisations() -> str:
    """Returns what is gained by each optimisation that is in the code."""
    return _comparisons(kept=True)


def rejected() -> str:
    """Returns what would be gained by what was tried and is not in the code."""
    return _comparisons(kept=False)


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
    records = _records("learning_curve")
    checkpoints = list(next(iter(records[0]["results"].values()))) if records else []
    header = ["updates", *checkpoints, "record"]
    return from_records("learning_curve", header, _learning_rows)


def ablation() -> str:
    """Returns BLEU with one thing changed at a time."""
    header = ["change", "BLEU, dev", "BLEU, test", "perplexity, dev", "minutes"]
    return from_records("ablation", header, _ablation_rows)


def projection() -> str:
    """Returns what the paper's trainings take on GPUs."""
    records = _records("projection")
    rows = [row for record in records for row in _projection_rows(record["results"])]
    return markdown(["", *(records[-1]["results"] if records else ())], rows)


def readme_training() -> str:
    """Returns the first speed table of README: the newest record of each model."""
    header = ["tokens/s in training", "machine", "**Beamformer**", "bfloat16", "OpenNMT-tf"]
    header += ["OpenNMT-py", "plain PyTorch loop"]
    columns = [*_TRAINERS[:4], "torch.nn.Transformer"]
    rows = [
        [size, _machine(record), *(_tokens_per_second(entry["rounds"], name) for name in columns)]
        for size, entry, record in _newest("training", "sizes")
    ]
    return _speed_table("training", header, rows)


def readme_decoding() -> str:
    """Returns the second speed table of README."""
    header = ["sentences/s, 16 tokens each", "machine", "**Beamformer**", "OpenNMT-py"]
    header += ["CTranslate2, float32", "CTranslate2, int8"]
    columns = ("ours, in process", "OpenNMT-py", "CTranslate2, float32", "CTranslate2, int8")
    rows = [
        [
            f"{model}, {search}",
            _machine(record),
            *(_sentences_per_second(entry, name) for name in columns),
        ]
        for model, searches, record in _newest("decoding", "models")
        for search, entry in searches.items()
    ]
    return _speed_table("decoding", header, rows)


def _records(benchmark: str) -> list[Record]:
    return [record for record in read_records() if record["benchmark"] == benchmark]


def _command(benchmark: str) -> str:
    output = f"tests/benchmarks/results/{benchmark}.json"
    return (
        f"python -m tests.benchmarks.{benchmark} --work_dir=/tmp/benchmark --output={output}"
        " && python -m tests.benchmarks.tables"
    )


def _newest(benchmark: str, entries: str) -> list[tuple[str, Any, Record]]:
    """Returns the newest entry of each name with its record."""
    newest = {
        name: (name, entry, record)
        for record in sorted(_records(benchmark), key=lambda record: record["date"])
        for name, entry in record["results"][entries].items()
    }
    return list(newest.values())


def _speed_table(benchmark: str, header: Sequence[str], rows: Sequence[Row]) -> str:
    if not rows:
        return f"No record yet: `{_command(benchmark)}`\n"
    return markdown(header, rows[:MAX_README_ROWS])


def _machine(record: Record) -> str:
    machine = record["machine"]
    return f"{machine['cores']} × {machine['processor']}, {machine['instructions']}"


def _link(record: Record) -> str:
    return f"[{record['commit']}](results/{record['file']})"


def _figure(value: float | None) -> str | None:
    """Formats a positive figure to about three digits, thousands with commas."""
    if value is None:
        return None
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _median(rounds: Sequence[Mapping[str, float]], figure: str) -> float:
    return statistics.median(measured[figure] for measured in rounds)


def _tokens_per_second(rounds: Mapping[str, Any], name: str) -> str | None:
    return _figure(_median(rounds[name], "tokens_per_second")) if name in rounds else None


def _sentences_per_second(entry: Mapping[str, Any], name: str) -> str | None:
    if name not in entry["seconds"]:
        return None
    return _figure(entry["sentences"] / statistics.median(entry["seconds"][name]))


def _training_rows(record: Record) -> Iterator[Row]:
    peak = record["results"]["limits"]["float32_peak"]
    for size, entry in record["results"]["sizes"].items():
        rounds = entry["rounds"]
        speeds = {name: _median(rounds[name], "tokens_per_second") for name in rounds}
        rivals = [speed for name, speed in speeds.items() if not name.startswith("ours")]
        ours = speeds["ours, float32"]
        yield [
            _machine(record),
            size,
            *(_tokens_per_second(rounds, name) for name in _TRAINERS),
            f"{ours / max(rivals):.2f}" if rivals else None,
            f"{ours * entry['operations_per_token'] / peak:.0%}",
            len(rounds["ours, float32"]),
            _link(record),
        ]


def _searches(record: Record) -> Iterator[tuple[list[str], Any]]:
    for model, searches in record["results"]["models"].items():
        for search, entry in searches.items():
            yield [_machine(record), model, search], entry


def _decoding_rows(record: Record) -> Iterator[Row]:
    for start, entry in _searches(record):
        speeds = [_sentences_per_second(entry, name) for name in _DECODERS]
        yield [*start, *speeds, len(entry["seconds"][_DECODERS[0]]), _link(record)]


def _latency_rows(record: Record) -> Iterator[Row]:
    for start, entry in _searches(record):
        times = entry["alone_milliseconds"]
        cells = [
            f"{times[name]['p50']:.1f} / {times[name]['p95']:.1f}" if name in times else None
            for name in _DECODERS[:-1]
        ]
        yield [*start, *cells, _link(record)]


def _length_rows(record: Record) -> Iterator[Row]:
    for start, entry in _searches(record):
        for system, times in entry["microseconds_per_token"].items():
            cells = [_figure(times.get(length)) for length in _LENGTHS]
            yield [*start, system, *cells, _link(record)]


def _memory_rows(record: Record) -> Iterator[Row]:
    memory = {int(done): mib for done, mib in record["results"].get("memory_mib", {}).items()}
    for done in sorted({1_000, 10_000, max(memory, default=0)} & set(memory)):
        yield [_machine(record), f"{done:,}", _figure(memory[done]), _link(record)]


def _preprocessing_rows(record: Record) -> Iterator[Row]:
    corpora = {"Hansard": "hansard", "English–French, resampled": "resampled"}
    for corpus, key in corpora.items():
        for system, entry in record["results"].get(key, {}).items():
            wall, cpu, memory = (
                _median(entry["rounds"], figure) for figure in ("wall", "cpu", "peak_memory")
            )
            lines = entry["lines"]
            figures = (wall, cpu, lines / wall, 1e6 * cpu / lines, memory)
            cells = map(_figure, figures)
            yield [_machine(record), corpus, system, *cells, len(entry["rounds"]), _link(record)]


def _encoding_rows(record: Record) -> Iterator[Row]:
    if encoding := record["results"].get("encoding"):
        seconds = encoding["cpu_seconds"].values()
        rates = [_figure(encoding["lines"] / statistics.median(times)) for times in seconds]
        efficiency = f"{record['results']['padding_efficiency']:.1%}"
        yield [_machine(record), *rates, efficiency, _link(record)]


def _comparisons(*, kept: bool) -> str:
    header = [
        "change",
        "machine",
        "workload",
        "with",
        "without",
        "ratio",
        "rounds: lowest, highest",
    ]
    header += ["rounds", "record"]

    def rows(record: Record) -> Iterator[Row]:
        for name, entry in record["results"].items():
            if entry["kept"] == kept:
                yield from _comparison_rows(name, entry, record)

    return from_records("optimisations", header, rows, _command("optimisations"))


def _comparison_rows(name: str, entry: Mapping[str, Any], record: Record) -> Iterator[Row]:
    for workload, rounds in entry["workloads"].items():
        ratios = [w / wo for w, wo in zip(rounds["with"], rounds["without"], strict=True)]
        yield [
            name,
            _machine(record),
            f"{workload}, {rounds['unit']}",
            *(_figure(statistics.median(rounds[arm])) for arm in ("with", "without")),
            f"**{statistics.median(ratios):.2f}**",
            f"{min(ratios):.2f}, {max(ratios):.2f}",
            len(ratios),
            _link(record),
        ]


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


TABLES: Mapping[str, Callable[[], str]] = {
    function.__name__: function
    for function in (
        training,
        decoding,
        latency,
        time_by_length,
        decoding_memory,
        preprocessing,
        encoding,
        optimisations,
        rejected,
        ctranslate2_agreement,
        learning_curve,
        ablation,
        projection,
        readme_training,
        readme_decoding,
        training_results.summary,
        training_results.demo_output,
        training_results.results_in_full,
    )
}

if __name__ == "__main__":
    main()
