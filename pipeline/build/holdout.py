"""Dev and test: given files, or pairs held out of the training text.

A hash of the source sentence decides which pairs are held out, independent of their order, the
number of blocks and the engine. Their raw text is written to the dataset directory, so evaluation
does not need the corpus.
"""

import dataclasses
import heapq
import itertools
from collections.abc import Sequence

from pipeline.common import storage
from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import Block, read_span
from pipeline.corpora.spans import Span
from pipeline.dataset.schema import Pair
from pipeline.stages.clean_pairs import CleanReport, read_candidates
from pipeline.stages.pair_files import read_clean_pairs, write_clean_pairs

LARGEST_SHARE = 20  # at most one pair in 20 is held out for each of dev and test


def count_candidates(splits: int, holdout_pairs: int) -> int:
    """Returns how many sentences to choose from: fewer than 20 are each over 5 % of the corpus."""
    wanted = splits * holdout_pairs
    return wanted + LARGEST_SHARE if wanted else 0


def choose_heldout_pairs(
    blocks: Sequence[Block],
    cleaned: Sequence[CleanReport],
    pairs_folder: str,
    *,
    splits: Sequence[str],
    holdout_pairs: int,
) -> dict[str, list[Pair]]:
    """Selects the pairs with the smallest sentence keys and assigns them to the splits in order.

    Training must not see a held-out sentence, so it loses all copies: these count for the largest
    share too, and a sentence that alone exceeds it stays in training.

    Example: 2 pairs for each of dev and test, where the four smallest keys of the corpus are
    03, 0a, 11 and 1f: dev gets the pairs of 03 and 0a, test those of 11 and 1f.

    Args:
        blocks: blocks of the training text.
        cleaned: reports of `CleanPairs` about these blocks.
        pairs_folder: output folder of `CleanPairs`.
        splits: splits without inputs.
        holdout_pairs: pairs wanted for each split; fewer if the training text would lose over 5 %
          of its pairs, but at least one if it has more pairs than there are splits to fill.
    """
    kept = sum(report.kept for report in cleaned)
    largest = max(kept // LARGEST_SHARE, 1 if kept > len(splits) else 0)
    count = count_candidates(len(splits), holdout_pairs)
    candidates = _find_smallest_keys(blocks, pairs_folder, count)
    fitting = [candidate for candidate in candidates if candidate.copies <= largest]
    counts: list[int] = []
    for _ in splits:
        split_candidates = fitting[sum(counts) :][:holdout_pairs]
        totals = itertools.accumulate(candidate.copies for candidate in split_candidates)
        counts.append(sum(total <= largest for total in totals))
    places = [candidate.place for candidate in fitting[: sum(counts)]]
    pairs = iter(_read_places(blocks, pairs_folder, places))
    return {
        split: list(itertools.islice(pairs, count))
        for split, count in zip(splits, counts, strict=True)
    }


@dataclasses.dataclass
class _Candidate:
    """A source sentence: (block, row) of its first pair, and the number of its pairs."""

    place: tuple[int, int]
    copies: int = 0


def _find_smallest_keys(blocks: Sequence[Block], pairs_folder: str, count: int) -> list[_Candidate]:
    """Returns the sentences with the `count` smallest keys in the corpus, in the order of the keys.

    Memory is bounded by `count` keys and the candidates of one block.
    """
    smallest: dict[str, _Candidate] = {}  # by key
    for index, block in enumerate(blocks if count else ()):
        for key, row, copies in read_candidates(pairs_folder, block.name):
            smallest.setdefault(key, _Candidate((index, row))).copies += copies
        smallest = {key: smallest[key] for key in heapq.nsmallest(count, smallest)}
    return list(smallest.values())


def _read_places(
    blocks: Sequence[Block], pairs_folder: str, places: Sequence[tuple[int, int]]
) -> list[Pair]:
    """Returns the pairs at (block, row), reading each block once."""
    pairs: dict[tuple[int, int], Pair] = {}
    for index in sorted({index for index, _ in places}):
        rows = read_clean_pairs(pairs_folder, blocks[index].name)
        pairs.update({place: rows[place[1]] for place in places if place[0] == index})
    return [pairs[place] for place in places]


def write_chosen(split: str, pairs: Sequence[Pair], final: str, pairs_folder: str) -> Block:
    """Writes held-out pairs as raw text and as clean pairs; returns their block."""
    _write_text(split, final, [source for source, _ in pairs], [target for _, target in pairs])
    nowhere = Span("", 0, 0, "held out of the training text", 1)
    block = Block(split, 0, len(pairs), nowhere, nowhere)
    write_clean_pairs(pairs_folder, block.name, pairs)
    return block


def write_given(split: str, blocks: Sequence[Block], final: str) -> None:
    """Writes the raw text of a split whose files were given: every line, unchanged."""
    sources = [line for block in blocks for line in read_span(block.source)]
    targets = [line for block in blocks for line in read_span(block.target)]
    _write_text(split, final, sources, targets)


def text_paths(split: str) -> tuple[str, str]:
    """Returns the paths of a split's raw text in the dataset directory, source and target."""
    return f"{split}/source.txt", f"{split}/target.txt"


def _write_text(split: str, final: str, sources: Sequence[str], targets: Sequence[str]) -> None:
    storage.make_folder(f"{final}/{split}")
    for path, lines in zip(text_paths(split), (sources, targets), strict=True):
        write_atomically(f"{final}/{path}", "".join(f"{line}\n" for line in lines).encode())
