from pathlib import Path

import pytest

from pipeline.build import holdout
from pipeline.cleaning import normalization
from pipeline.config import PreprocessConfig
from pipeline.corpora.blocks import Block
from pipeline.corpora.spans import Span
from pipeline.dataset.schema import Pair, read_lines
from pipeline.stages.clean_pairs import CleanPairs
from pipeline.stages.pair_files import read_clean_pairs

PAIRS = [(f"source {n}", f"target {n}") for n in range(200)]


def cleaned(folder: Path, pairs: list[Pair], block_size: int) -> tuple[list, list]:
    """Returns blocks and reports as if `CleanPairs` had written the pairs in such blocks."""
    blocks, reports = [], []
    for index, start in enumerate(range(0, len(pairs), block_size)):
        lines = pairs[start : start + block_size]
        sides = []
        for side in (0, 1):
            path = folder / f"text-{index}-{side}"
            path.write_text("".join(f"{line[side]}\n" for line in lines), "utf-8")
            sides.append(Span(str(path), 0, path.stat().st_size, path.name, 1))
        blocks.append(Block("train", index, len(lines), *sides))
        reports.append(CleanPairs(str(folder), PreprocessConfig().rules, 20)(blocks[-1]))
    return blocks, reports


def test_choice_does_not_depend_on_order_or_blocks(tmp_path: Path) -> None:
    results = []
    for folder, pairs, block_size in (("a", PAIRS, 200), ("b", PAIRS[::-1], 33)):
        (tmp_path / folder).mkdir()
        blocks, reports = cleaned(tmp_path / folder, pairs, block_size)
        results.append(
            holdout.choose_heldout_pairs(
                blocks, reports, str(tmp_path / folder), splits=["dev", "test"], holdout_pairs=7
            )
        )
    assert results[0] == results[1]
    least = sorted(PAIRS, key=lambda pair: normalization.sentence_key(pair[0]))[:14]
    assert results[0] == {"dev": least[:7], "test": least[7:]}


def test_at_most_five_percent_are_held_out(tmp_path: Path) -> None:
    blocks, reports = cleaned(tmp_path, PAIRS, 50)
    chosen = holdout.choose_heldout_pairs(
        blocks, reports, str(tmp_path), splits=["test"], holdout_pairs=1000
    )
    assert len(chosen["test"]) == 10


def choose(
    folder: Path, pairs: list[Pair], block_size: int, holdout_pairs: int = 20
) -> tuple[list[Pair], list[Pair]]:
    """Returns what is held out for dev and for test."""
    blocks, reports = cleaned(folder, pairs, block_size)
    splits = ["dev", "test"]
    chosen = holdout.choose_heldout_pairs(
        blocks, reports, str(folder), splits=splits, holdout_pairs=holdout_pairs
    )
    return chosen["dev"], chosen["test"]


def test_repeated_source_is_held_out_once_at_its_first_occurrence(tmp_path: Path) -> None:
    repeated = [(source, f"{target} again") for source, target in PAIRS]
    dev, _ = choose(tmp_path, PAIRS + repeated, block_size=100)
    assert len({source for source, _ in dev}) == len(dev)
    assert not any(target.endswith("again") for _, target in dev)


def test_copies_in_all_blocks_count_for_the_largest_share(tmp_path: Path) -> None:
    repeated = [(source, f"{target} again") for source, target in PAIRS]
    dev, test = choose(tmp_path, PAIRS + repeated, block_size=100)
    least = sorted(PAIRS, key=lambda pair: normalization.sentence_key(pair[0]))
    assert (dev, test) == (least[:10], least[10:20])  # 20 of 400 pairs each


def test_a_sentence_with_too_many_copies_stays_in_training(tmp_path: Path) -> None:
    first, second, third, *_ = sorted(PAIRS, key=lambda pair: normalization.sentence_key(pair[0]))
    pairs = [*PAIRS, *[second] * 50]
    dev, test = choose(tmp_path, pairs, block_size=60, holdout_pairs=1)
    assert (dev, test) == ([first], [third])


@pytest.mark.parametrize(
    ("pairs", "held_out"),
    [
        (PAIRS[:1] * 10_000, 0),
        (PAIRS[:5] * 80, 0),
        (PAIRS[:5], 1),
        (PAIRS[:3], 1),
        (PAIRS[:2], 0),
        (PAIRS[:1], 0),
    ],
)
def test_some_pairs_are_always_left_to_train_on(
    tmp_path: Path, pairs: list[Pair], held_out: int
) -> None:
    dev, test = choose(tmp_path, pairs, block_size=3_000, holdout_pairs=1_000)
    assert (len(dev), len(test)) == (held_out, held_out)


def test_held_out_pairs_become_raw_text_and_one_block(tmp_path: Path) -> None:
    block = holdout.write_chosen("dev", PAIRS[:3], str(tmp_path), str(tmp_path))
    assert read_clean_pairs(str(tmp_path), block.name) == PAIRS[:3]
    source, target = holdout.text_paths("dev")
    assert read_lines(tmp_path / source) == ["source 0", "source 1", "source 2"]
    assert read_lines(tmp_path / target) == ["target 0", "target 1", "target 2"]
