"""Real English–French text for benchmarks, from ../shared/data."""

import gzip
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

DATA = Path(__file__).resolve().parents[3] / "shared/data"

Pair = tuple[str, str]


def hansard() -> Iterator[Pair]:
    """Yields the 468,007 pairs of the Canadian Hansards, 36th Parliament."""
    for english in sorted(DATA.glob("hansard/*.en.gz")):
        yield from _aligned(english, "iso-8859-1")


def everything() -> Iterator[Pair]:
    """Yields all English–French pairs: Hansards, news tests, Tatoeba, Multi30k, manuals."""
    yield from hansard()
    for pattern in ("wmt-news/*.en.gz", "multi30k/*.en.gz"):
        for english in sorted(DATA.glob(pattern)):
            yield from _aligned(english, "utf-8")
    for pattern in ("tatoeba/fra-eng*.tsv.gz", "techdocs/en-fr/*.tsv.gz"):
        for table in sorted(DATA.glob(pattern)):
            for line in lines(table, "utf-8"):
                source, target = line.split("\t")[:2]
                yield source, target


def resample(pairs: Iterable[Pair], number: int) -> Iterator[Pair]:
    """Draws pairs with replacement; a fixed seed, so every call gives the same corpus."""
    return iter(random.Random(1706_03762).choices(list(pairs), k=number))


def write(pairs: Iterable[Pair], stem: Path) -> list[Path]:
    """Writes `STEM.en` and `STEM.fr`, one sentence per line, unless they exist; returns both."""
    paths = [stem.with_suffix(suffix) for suffix in (".en", ".fr")]
    if not all(path.exists() for path in paths):
        partial = [path.with_suffix(f"{path.suffix}.tmp") for path in paths]
        with open(partial[0], "w") as english, open(partial[1], "w") as french:
            for source, target in pairs:
                english.write(f"{source}\n")
                french.write(f"{target}\n")
        for made, path in zip(partial, paths, strict=True):
            made.rename(path)
    return paths


def lines(path: Path, encoding: str) -> list[str]:
    r"""Returns the lines of a compressed file, split on "\n" alone."""
    return gzip.decompress(path.read_bytes()).decode(encoding).split("\n")[:-1]


def _aligned(english: Path, encoding: str) -> Iterator[Pair]:
    french = Path(str(english).replace(".en.gz", ".fr.gz"))
    return zip(lines(english, encoding), lines(french, encoding), strict=True)
