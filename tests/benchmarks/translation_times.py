"""Times of translating, printed as tables."""

import functools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

from pipeline.common.tables import format_table
from tests.benchmarks.measure import alternate

Engine = Callable[[Sequence[str]], object]  # translates sentences

_REPEATS = 3


def compare(
    title: str,
    contenders: Mapping[str, Callable[[], float]],
    sentences: Sequence[str],
    rounds: int,
) -> dict[str, list[float]]:
    """Prints the medians of sentences per second; returns the seconds of every round."""
    runs = alternate(contenders, rounds)
    speeds = {name: len(sentences) / statistics.median(times) for name, times in runs.items()}
    ours = next(iter(speeds.values()))
    rows = [["", "sentences/s", "ours is faster by"]]
    rows += [[name, f"{speed:,.1f}", f"{ours / speed:.2f}"] for name, speed in speeds.items()]
    show(title, rows)
    return runs


def time_alone(
    title: str, translators: Mapping[str, Engine], sentences: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Prints and returns the milliseconds of single sentences: median, 95th percentile."""
    rows, results = [["", "p50 ms", "p95 ms"]], {}
    for name, translate in translators.items():
        times = [1e3 * seconds(translate, [sentence]) for sentence in sentences]
        cuts = statistics.quantiles(times, n=20)
        results[name] = {"p50": cuts[9], "p95": cuts[18]}
        rows.append([name, *(f"{figure:.1f}" for figure in results[name].values())])
    show(f"{title}, one sentence at a time", rows)
    return results


def time_by_length(
    title: str, translators: Mapping[int, Engine], sentences: Sequence[str]
) -> dict[int, float]:
    """Prints and returns microseconds per token, by the tokens of every translation."""
    rows, results = [["tokens", "seconds", "µs/token"]], {}
    for length, translate in translators.items():
        translate(sentences)  # makes the graph
        taken = statistics.median(seconds(translate, sentences) for _ in range(_REPEATS))
        results[length] = 1e6 * taken / (length * len(sentences))
        rows.append([str(length), f"{taken:.2f}", f"{results[length]:,.0f}"])
    show(f"{title}, {len(sentences)} sentences by length", rows)
    return results


def timed(
    translators: Mapping[str, Engine], sentences: Sequence[str]
) -> dict[str, Callable[[], float]]:
    """Returns timed translations of all sentences, after a first one that traces the graphs."""
    for translate in translators.values():
        translate(sentences)
    return {
        name: functools.partial(seconds, translate, sentences)
        for name, translate in translators.items()
    }


def seconds(translate: Engine, sentences: Sequence[str]) -> float:
    """Returns the seconds of translating."""
    start = time.monotonic()
    translate(sentences)
    return time.monotonic() - start


def show(title: str, rows: Sequence[Sequence[str]]) -> None:
    """Prints a table."""
    print(f"\n{title}", *format_table(rows), sep="\n", flush=True)
