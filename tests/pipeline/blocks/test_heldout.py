from pathlib import Path

import pytest

from pipeline.blocks import heldout
from pipeline.blocks.candidates import merge_candidates, read_candidates
from pipeline.blocks.clean_block import CleanBlock, CleanReport, add_reports
from pipeline.blocks.heldout import Choice, HoldOutPairs
from pipeline.blocks.inventory import Inventory
from pipeline.blocks.pair_files import read_clean_pairs
from pipeline.cleaning import normalization
from pipeline.config import PreprocessConfig
from pipeline.corpora.blocks import Block
from pipeline.corpora.spans import Span
from pipeline.dataset.schema import Pair, read_lines

PAIRS = [(f"source {n}", f"target {n}") for n in range(200)]


def hold_out(
    folder: Path, pairs: list[Pair], block_size: int, *, splits: tuple[str, ...], holdout_pairs: int
) -> dict[str, list[Pair]]:
    """Returns what is held out of pairs in blocks of this size."""
    choice = Choice(splits, holdout_pairs)
    candidates, reports = [], []
    for index, start in enumerate(range(0, len(pairs), block_size)):
        lines = pairs[start : start + block_size]
        sides = []
        for side in (0, 1):
            path = folder / f"text-{index}-{side}"
            path.write_text("".join(f"{line[side]}\n" for line in lines), "utf-8")
            sides.append(Span(str(path), 0, path.stat().st_size, path.name, 1))
        block = Block("train", index, len(lines), sides[0], sides[1])
        clean = CleanBlock(str(folder), PreprocessConfig().rules, choice.candidates)
        reports.append(clean(block))
        candidates.append(read_candidates(str(folder), block))
    merged = merge_candidates(candidates[::-1], choice.candidates)  # in any order
    chosen = choice.choose(merged, add_reports(reports).kept)
    return {split: heldout.read_chosen(places, str(folder)) for split, places in chosen.items()}


def test_choice_does_not_depend_on_order_or_blocks(tmp_path: Path) -> None:
    results = []
    for folder, pairs, block_size in (("a", PAIRS, 200), ("b", PAIRS[::-1], 33)):
        (tmp_path / folder).mkdir()
        results.append(
            hold_out(tmp_path / folder, pairs, block_size, splits=("dev", "test"), holdout_pairs=7)
        )
    assert results[0] == results[1]
    least = sorted(PAIRS, key=lambda pair: normalization.sentence_key(pair[0]))[:14]
    assert results[0] == {"dev": least[:7], "test": least[7:]}


def test_at_most_five_percent_are_held_out(tmp_path: Path) -> None:
    chosen = hold_out(tmp_path, PAIRS, 50, splits=("test",), holdout_pairs=1000)
    assert len(chosen["test"]) == 10


def choose(
    folder: Path, pairs: list[Pair], block_size: int, holdout_pairs: int = 20
) -> tuple[list[Pair], list[Pair]]:
    """Returns what is held out for dev and for test."""
    splits = ("dev", "test")
    chosen = hold_out(folder, pairs, block_size, splits=splits, holdout_pairs=holdout_pairs)
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
    block = heldout.write_chosen("dev", PAIRS[:3], str(tmp_path), str(tmp_path))
    assert read_clean_pairs(str(tmp_path), block.name) == PAIRS[:3]
    source, target = heldout.text_paths("dev")
    assert read_lines(tmp_path / source) == ["source 0", "source 1", "source 2"]
    assert read_lines(tmp_path / target) == ["target 0", "target 1", "target 2"]


def test_what_training_must_not_see_is_a_file_of_sentences_and_given_pairs(tmp_path: Path) -> None:
    hold_out(tmp_path, PAIRS, 60, splits=("test",), holdout_pairs=3)
    dev = []
    for side, line in (("source", " a dev\tline \n"), ("target", "its translation\n")):
        (tmp_path / side).write_text(line)
        dev.append(Span(str(tmp_path / side), 0, len(line), side, 1))
    block = Block("dev", 0, 1, dev[0], dev[1])
    report = CleanBlock(str(tmp_path), PreprocessConfig().rules, 0)(block)
    choice = Choice(("test",), 3)
    blocks = [Block("train", index, 60, dev[0], dev[1]) for index in range(4)]
    candidates = merge_candidates(
        [read_candidates(str(tmp_path), each) for each in blocks], choice.candidates
    )
    function = HoldOutPairs(choice, True, str(tmp_path), str(tmp_path / "final"), f"{tmp_path}/h")
    totals = {"train": CleanReport(200, 0, {}), "dev": report}
    result = function(
        Inventory((), {}, {"train": 4, "dev": 1}), totals, candidates, [(block, report)]
    )
    least = sorted(PAIRS, key=lambda pair: normalization.sentence_key(pair[0]))[:3]
    assert result.read() == {("a dev line", "its translation"), *(source for source, _ in least)}
    assert read_lines(tmp_path / "final/dev/source.txt") == [" a dev\tline "]
    assert (result.lines, result.blocks) == (204, 6)
    assert result.counters["train"] == {"held_out": 3, "overlap_with_dev_or_test": -3}
