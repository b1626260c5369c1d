"""Tables of preprocessing at scale: what was measured, and what a billion pairs would take."""

from collections.abc import Iterator

from pipeline.blocks import count_block
from pipeline.blocks.candidates import CANDIDATE
from pipeline.blocks.count_block import group_size
from pipeline.blocks.heldout import Choice
from pipeline.cleaning.deduplication import KEYED, count_ranges
from pipeline.subwords.learning import LEARNED_WORDS
from tests.benchmarks.record import Record
from tests.benchmarks.record_tables import (
    Row,
    command_for,
    format_figure,
    from_records,
    machine_name,
    markdown,
    record_link,
)

# The corpus on paper, and what is assumed of it and of machines.
PAIRS = 1_000_000_000
WORKERS = 100
BLOCK_LINES = 200_000
_PAIR_BYTES = 250  # of text
_WORD_BYTES = 20  # of a counted word in a file
_WORDS_PER_BLOCK = 1_000_000  # different ones, of 200,000 pairs, on both sides
_SHARD_BYTES = 110  # of a pair
_REPORT_BYTES = 2_000  # of a block with its shards
_STORE_SECONDS = 0.03  # for a small read
_STREAM_BYTES = 300e6  # per second, of one reader


def scale() -> str:
    """Returns memory and processor time by the size of the corpus."""
    header = ["machine", "pairs", "workers", "wall s", "CPU µs/line", "driver, MiB"]
    header += ["largest worker, MiB", "record"]
    return from_records("scale", header, _scale_rows, command_for("scale"))


def scale_phases() -> str:
    """Returns where the time of each process goes."""
    header = ["pairs", "phase", "wall s", "driver, CPU s", "worker 1, CPU s", "worker 2, CPU s"]
    return from_records("scale", header, _phase_rows, command_for("scale"))


def scale_on_paper() -> str:
    """Returns what each stage would read, shuffle and hold of a billion pairs on 100 workers."""
    blocks = PAIRS // BLOCK_LINES
    text = _giga(PAIRS * _PAIR_BYTES)
    ranges = count_ranges(PAIRS)
    keys = PAIRS * KEYED.itemsize
    reads = 3 * ranges * blocks  # of keys, and twice of repeats
    minutes = reads / WORKERS * _STORE_SECONDS / 60
    candidates = Choice(("dev", "test"), 1000).candidates
    candidate_bytes = candidates * CANDIDATE.itemsize
    groups = blocks // group_size(blocks, BLOCK_LINES)
    words = groups * _WORDS_PER_BLOCK * _WORD_BYTES
    hours = PAIRS * _PAIR_BYTES / _STREAM_BYTES / 3600
    rows: list[Row] = [
        ["ReadBlocks", "1 per input", text, f"{blocks:,} addresses", "one block's text",
         f"one pair of files is {hours * 60:.0f} minutes of one worker: give 100 of them"],
        ["CleanPairs", f"{blocks:,}", text, f"{blocks:,} reports", "a block", ""],
        ["HoldOut", f"{blocks:,}, then 1", _giga(blocks * candidate_bytes),
         f"{candidate_bytes / 1e3:.0f} kB per bundle", f"{candidates:,} candidates", ""],
        ["MarkDuplicates", f"{ranges}",
         f"{_giga(keys)}; {_giga(ranges * keys)} if a store sends whole files", f"{ranges} numbers",
         f"{PAIRS / ranges / 1e6:.1f} million keys",
         f"{reads:,} small reads: {minutes:.0f} minutes of a store's latency"],
        ["CountWords", f"{groups:,}, then {count_block.MOST_RANGES}",
         f"{text}, then {_giga(words)}",
         f"{groups:,} reports", f"words of a block, or 1/{count_block.MOST_RANGES} of all",
         "different words beyond 500 million: more ranges"],
        ["LearnSubwords", "1", _giga(count_block.MOST_RANGES * LEARNED_WORDS * _WORD_BYTES), "–",
         f"{LEARNED_WORDS:,} words (wordpiece: all words)", "wordpiece: give its subwords"],
        ["ChooseShapes", f"{blocks:,}", "first rows", "a histogram per bundle", "a histogram", ""],
        ["EncodePairs", f"{blocks:,}", text, _giga(blocks * _REPORT_BYTES), "a block and its rows",
         f"writes {_giga(PAIRS * _SHARD_BYTES)}"],
        ["WriteManifest", "1", "dev and test", "–", f"{_giga(blocks * _REPORT_BYTES)} of reports",
         ""],
    ]  # fmt: skip
    header = ["stage", "tasks", "reads", "shuffles", "a task holds", "breaks first"]
    return markdown(header, rows)


def _giga(size: float) -> str:
    return f"{size / 1e9:,.0f} GB" if size >= 1e10 else f"{size / 1e9:,.2f} GB"


def _scale_rows(record: Record) -> Iterator[Row]:
    results, flags = record["results"], record["flags"]
    figures = (
        results["wall"],
        1e6 * results["cpu"] / results["lines"],
        results["driver_memory"],
        results["worker_memory"],
    )
    yield [
        machine_name(record),
        f"{flags['pairs']:,}",
        flags["workers"],
        *map(format_figure, figures),
        record_link(record),
    ]


def _phase_rows(record: Record) -> Iterator[Row]:
    for phase, times in record["results"]["phases"].items():
        names = ("seconds", "driver", "worker 1", "worker 2")
        cells = (f"{times[name]:,.0f}" if name in times else None for name in names)
        yield [f"{record['flags']['pairs']:,}", phase, *cells]
