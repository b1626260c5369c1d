"""Dev and test: given files, or pairs held out of the training text.

Which pairs are held out depends on a hash of the source sentence alone: not on their order, the
number of blocks or the engine. Their raw text goes into the dataset directory, so that evaluation
never needs the corpus again.
"""

import heapq
from collections.abc import Sequence

from pipeline.common import storage
from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import Block, read_span
from pipeline.corpora.spans import Span
from pipeline.stages.block_stages import Report, read_candidates
from pipeline.stages.pair_files import Pair, read_pairs, write_pairs

LARGEST_SHARE = 20  # at most one pair in 20 is held out for each of dev and test


def choose(
    blocks: Sequence[Block],
    cleaned: Sequence[Report],
    pairs_folder: str,
    splits: Sequence[str],
    holdout_pairs: int,
) -> dict[str, list[Pair]]:
    """Returns the training pairs with the least keys, dealt out to `splits` in order.

    Args:
      blocks: of the training text.
      cleaned: what `CleanPairs` reported about each.
      pairs_folder: where `CleanPairs` wrote.
      splits: those for which no files were given.
      holdout_pairs: wanted for each split; fewer when they would be over 5 % of the corpus.
    """
    kept = sum(r["lines"] - sum(r["dropped"].values()) for r in cleaned)
    each = min(holdout_pairs, kept // LARGEST_SHARE)
    places: dict[str, tuple[int, int]] = {}  # key → block, row of its first occurrence
    for index, block in enumerate(blocks if splits and each else ()):
        for key, row in read_candidates(pairs_folder, block.name):
            places.setdefault(key, (index, row))
        places = dict(heapq.nsmallest(each * len(splits), places.items()))
    least = list(places.values())
    pairs: dict[tuple[int, int], Pair] = {}
    for index in sorted({index for index, _ in least}):
        rows = read_pairs(pairs_folder, blocks[index].name)
        pairs.update({(at, row): rows[row] for at, row in least if at == index})
    return {
        split: [pairs[place] for place in least[number * each : (number + 1) * each]]
        for number, split in enumerate(splits)
    }


def write_chosen(split: str, pairs: Sequence[Pair], final: str, pairs_folder: str) -> Block:
    """Writes held-out pairs as raw text and as clean pairs; returns the one block they make."""
    _write_text(split, final, [source for source, _ in pairs], [target for _, target in pairs])
    nowhere = Span("", 0, 0, "held out of the training text", 1)
    block = Block(split, 0, len(pairs), nowhere, nowhere)
    write_pairs(pairs_folder, block.name, pairs)
    return block


def write_given(split: str, blocks: Sequence[Block], final: str) -> None:
    """Writes the raw text of a split whose files were given: every line, as it was."""
    sources = [line for block in blocks for line in read_span(block.source)]
    targets = [line for block in blocks for line in read_span(block.target)]
    _write_text(split, final, sources, targets)


def text_paths(split: str) -> tuple[str, str]:
    """Returns where a split's raw text lies in the dataset directory, source and target."""
    return f"{split}/source.txt", f"{split}/target.txt"


def _write_text(split: str, final: str, sources: Sequence[str], targets: Sequence[str]) -> None:
    storage.make_folder(f"{final}/{split}")
    for path, lines in zip(text_paths(split), (sources, targets), strict=True):
        write_atomically(f"{final}/{path}", "".join(f"{line}\n" for line in lines).encode())
