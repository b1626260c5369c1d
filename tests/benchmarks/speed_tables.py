"""Tables of speed and memory."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.benchmarks.record import Record
from tests.benchmarks.record_tables import (
    Row,
    command_for,
    format_figure,
    from_records,
    machine_name,
    markdown,
    median_of,
    record_link,
    records_of,
)

MAX_README_ROWS = 8
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


def training() -> str:
    """Returns real tokens per second of every contender in training."""
    header = ["machine", "model", *_TRAINERS, "ratio", "share of peak", "rounds", "record"]
    return from_records("training", header, _training_rows, command_for("training"))


def decoding() -> str:
    """Returns sentences per second."""
    header = ["machine", "model", "search", *_DECODERS, "rounds", "record"]
    return from_records("decoding", header, _decoding_rows, command_for("decoding"))


def latency() -> str:
    """Returns p50 and p95 of single sentences."""
    header = ["machine", "model", "search", *_DECODERS[:-1], "record"]
    return from_records("decoding", header, _latency_rows, command_for("decoding"))


def time_by_length() -> str:
    """Returns the time of a token by the length of the translations."""
    header = ["machine", "model", "search", "system", *_LENGTHS, "record"]
    return from_records("decoding", header, _length_rows, command_for("decoding"))


def decoding_memory() -> str:
    """Returns the memory of one process by the number of sentences translated."""
    header = ["machine", "sentences", "resident MiB", "record"]
    return from_records("decoding", header, _memory_rows, command_for("decoding"))


def preprocessing() -> str:
    """Returns speed and memory of whole preprocessing runs."""
    header = ["machine", "corpus", "system", "wall s", "CPU s", "lines/s"]
    header += ["CPU µs/line", "largest process, MiB", "rounds", "record"]
    return from_records("preprocess", header, _preprocessing_rows, command_for("preprocess"))


def encoding() -> str:
    """Returns the speed of the encoding stage, and how full rows are."""
    header = ["machine", "encode and write, lines/CPU s", "SentencePiece alone, lines/CPU s"]
    header += ["real positions of rows", "record"]
    return from_records("preprocess", header, _encoding_rows, command_for("preprocess"))


def readme_training() -> str:
    """Returns the first speed table of README: the newest record of each model."""
    header = ["tokens/s in training", "machine", "**Beamformer**", "bfloat16", "OpenNMT-tf"]
    header += ["OpenNMT-py", "plain PyTorch loop"]
    columns = [*_TRAINERS[:4], "torch.nn.Transformer"]
    rows = [
        [
            size,
            machine_name(record),
            *(_tokens_per_second(entry["rounds"], name) for name in columns),
        ]
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
            machine_name(record),
            *(_sentences_per_second(entry, name) for name in columns),
        ]
        for model, searches, record in _newest("decoding", "models")
        for search, entry in searches.items()
    ]
    return _speed_table("decoding", header, rows)


def _newest(benchmark: str, entries: str) -> list[tuple[str, Any, Record]]:
    """Returns the newest entry of each name with its record."""
    newest = {
        name: (name, entry, record)
        for record in sorted(records_of(benchmark), key=lambda record: record["date"])
        for name, entry in record["results"][entries].items()
    }
    return list(newest.values())


def _speed_table(benchmark: str, header: Sequence[str], rows: Sequence[Row]) -> str:
    if not rows:
        return f"No record yet: `{command_for(benchmark)}`\n"
    return markdown(header, rows[:MAX_README_ROWS])


def _tokens_per_second(rounds: Mapping[str, Any], name: str) -> str | None:
    return format_figure(median_of(rounds[name], "tokens_per_second")) if name in rounds else None


def _sentences_per_second(entry: Mapping[str, Any], name: str) -> str | None:
    if name not in entry["seconds"]:
        return None
    return format_figure(entry["sentences"] / statistics.median(entry["seconds"][name]))


def _training_rows(record: Record) -> Iterator[Row]:
    peak = record["results"]["limits"]["float32_peak"]
    for size, entry in record["results"]["sizes"].items():
        rounds = entry["rounds"]
        speeds = {name: median_of(rounds[name], "tokens_per_second") for name in rounds}
        rivals = [speed for name, speed in speeds.items() if not name.startswith("ours")]
        ours = speeds["ours, float32"]
        yield [
            machine_name(record),
            size,
            *(_tokens_per_second(rounds, name) for name in _TRAINERS),
            f"{ours / max(rivals):.2f}" if rivals else None,
            f"{ours * entry['operations_per_token'] / peak:.0%}",
            len(rounds["ours, float32"]),
            record_link(record),
        ]


def _searches(record: Record) -> Iterator[tuple[list[str], Any]]:
    for model, searches in record["results"]["models"].items():
        for search, entry in searches.items():
            yield [machine_name(record), model, search], entry


def _decoding_rows(record: Record) -> Iterator[Row]:
    for start, entry in _searches(record):
        speeds = [_sentences_per_second(entry, name) for name in _DECODERS]
        yield [*start, *speeds, len(entry["seconds"][_DECODERS[0]]), record_link(record)]


def _latency_rows(record: Record) -> Iterator[Row]:
    for start, entry in _searches(record):
        times = entry["alone_milliseconds"]
        cells = [
            f"{times[name]['p50']:.1f} / {times[name]['p95']:.1f}" if name in times else None
            for name in _DECODERS[:-1]
        ]
        yield [*start, *cells, record_link(record)]


def _length_rows(record: Record) -> Iterator[Row]:
    for start, entry in _searches(record):
        for system, times in entry["microseconds_per_token"].items():
            cells = [format_figure(times.get(length)) for length in _LENGTHS]
            yield [*start, system, *cells, record_link(record)]


def _memory_rows(record: Record) -> Iterator[Row]:
    memory = {int(done): mib for done, mib in record["results"].get("memory_mib", {}).items()}
    for done in sorted({1_000, 10_000, max(memory, default=0)} & set(memory)):
        yield [machine_name(record), f"{done:,}", format_figure(memory[done]), record_link(record)]


def _preprocessing_rows(record: Record) -> Iterator[Row]:
    corpora = {"Hansard": "hansard", "English–French, resampled": "resampled"}
    for corpus, key in corpora.items():
        for system, entry in record["results"].get(key, {}).items():
            wall, cpu, memory = (
                median_of(entry["rounds"], figure) for figure in ("wall", "cpu", "peak_memory")
            )
            lines = entry["lines"]
            figures = (wall, cpu, lines / wall, 1e6 * cpu / lines, memory)
            cells = map(format_figure, figures)
            yield [
                machine_name(record),
                corpus,
                system,
                *cells,
                len(entry["rounds"]),
                record_link(record),
            ]


def _encoding_rows(record: Record) -> Iterator[Row]:
    if encoding := record["results"].get("encoding"):
        seconds = encoding["cpu_seconds"].values()
        rates = [format_figure(encoding["lines"] / statistics.median(times)) for times in seconds]
        efficiency = f"{record['results']['padding_efficiency']:.1%}"
        yield [machine_name(record), *rates, efficiency, record_link(record)]
