from pathlib import Path

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


def test_repeated_source_is_held_out_once_at_its_first_occurrence(tmp_path: Path) -> None:
    repeated = [(source, f"{target} again") for source, target in PAIRS]
    blocks, reports = cleaned(tmp_path, PAIRS + repeated, 100)
    chosen = holdout.choose_heldout_pairs(
        blocks, reports, str(tmp_path), splits=["dev"], holdout_pairs=20
    )
    assert len({source for source, _ in chosen["dev"]}) == 20
    assert not any(target.endswith("again") for _, target in chosen["dev"])


def test_held_out_pairs_become_raw_text_and_one_block(tmp_path: Path) -> None:
    block = holdout.write_chosen("dev", PAIRS[:3], str(tmp_path), str(tmp_path))
    assert read_clean_pairs(str(tmp_path), block.name) == PAIRS[:3]
    source, target = holdout.text_paths("dev")
    assert read_lines(tmp_path / source) == ["source 0", "source 1", "source 2"]
    assert read_lines(tmp_path / target) == ["target 0", "target 1", "target 2"]
