"""Each verb on its own, as a Beam user applies it."""

from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to

from pipeline.blocks.clean_block import CleanReport
from pipeline.blocks.count_block import Counted, CountReport
from pipeline.blocks.encode_block import EncodeReport, Encoding
from pipeline.blocks.heldout import Choice, HeldOut, HoldOutPairs
from pipeline.blocks.heldout_text import write_heldout
from pipeline.blocks.inventory import Inventory
from pipeline.blocks.pair_files import read_clean_pairs, write_clean_pairs
from pipeline.blocks.repeats import Repeats
from pipeline.blocks.shapes import LengthSample
from pipeline.blocks.stop import Stop
from pipeline.blocks.vocabularies import plan_vocabularies
from pipeline.cleaning.rules import CleaningConfig, PairRules
from pipeline.config import PreprocessConfig
from pipeline.corpora.blocks import Block
from pipeline.corpora.spans import Span
from pipeline.dataset.schema import Pair, Vocabulary, load_dataset, mark_completed, read_lines
from pipeline.stages.choose_shapes import ChooseShapes
from pipeline.stages.clean_pairs import CleanPairs
from pipeline.stages.count_words import CountWords
from pipeline.stages.encode_pairs import EncodePairs
from pipeline.stages.hold_out import HoldOut
from pipeline.stages.learn_subwords import LearnSubwords
from pipeline.stages.mark_duplicates import MarkDuplicates
from pipeline.stages.write_manifest import WriteManifest
from tests.helpers.beam import only, pipeline, singleton, training_blocks

PAIRS = [[("a b", "x"), ("c", "y")], [("a b", "x")], [("d", "z z"), ("e", "x"), ("f", "")]]
RULES = PairRules(CleaningConfig(drop_duplicates=True), "en", "de")
TOTALS = {"train": CleanReport(6, 0, {"empty_side": 1})}
FAILED = Stop((0, 1), "line 7 is bad")


@pytest.fixture
def blocks(tmp_path: Path) -> list[Block]:
    """Blocks of the pairs, in files."""
    blocks = []
    for index, pairs in enumerate(PAIRS):
        spans = []
        for side in (0, 1):
            path = tmp_path / f"{index}.{side}"
            path.write_text("".join(f"{pair[side]}\n" for pair in pairs))
            spans.append(Span(str(path), 0, path.stat().st_size, path.name, 1))
        blocks.append(Block("train", index, len(pairs), spans[0], spans[1], len(PAIRS)))
    return blocks


def cleaned(p: beam.Pipeline, folder: Path, blocks: list[Block], candidates: int = 0) -> Any:
    clean = CleanPairs(str(folder), str(folder), RULES, candidates)
    return p | "Blocks" >> beam.Create(blocks) | clean


def held_out(folder: Path, pairs: tuple[str | Pair, ...] = (), lines: int = 6) -> HeldOut:
    text = write_heldout(f"{folder}/heldout", pairs)
    return HeldOut(text.path, text.sha256, (), TOTALS, lines, len(PAIRS))


def vocabularies(folder: Path) -> tuple[Vocabulary, Vocabulary]:
    (plan,) = plan_vocabularies(PreprocessConfig())
    counts = Counts({letter: 9 for letter in "abcdexyz"})
    plan.write(str(folder), counts.read, 5)
    vocabulary = plan.identify(str(folder))
    return vocabulary, vocabulary


class Counts:
    """Counts of words, as `VocabularyPlan.write` reads them."""

    def __init__(self, words: dict[str, int]) -> None:
        self.words = words
        self.distinct = self.characters = len(words)

    def read(self) -> Any:
        return self


def test_clean_pairs(tmp_path: Path, blocks: list[Block]) -> None:
    with pipeline() as p:
        reports = [
            CleanReport(2, 0, {}),
            CleanReport(1, 0, {}),
            CleanReport(3, 0, {"empty_side": 1}),
        ]
        assert_that(cleaned(p, tmp_path, blocks), equal_to(list(zip(blocks, reports, strict=True))))
    assert read_clean_pairs(str(tmp_path), "train-00002") == [("d", "z z"), ("e", "x")]


def test_hold_out(tmp_path: Path, blocks: list[Block]) -> None:
    choice = Choice(("dev",), 1)
    function = HoldOutPairs(choice, True, str(tmp_path), f"{tmp_path}/final", f"{tmp_path}/h")
    with pipeline() as p:
        inventory = singleton(p, "Inventory", Inventory((), {}, {"train": 3}))
        totals = singleton(p, "Totals", TOTALS)
        result = cleaned(p, tmp_path, blocks, choice.candidates) | HoldOut(
            function, inventory, totals
        )

        def check(heldout: HeldOut) -> None:
            (chosen,) = heldout.read()
            assert chosen in ("c", "d", "e")  # "a b" has two copies: more than one pair of five
            assert [block.split for block in heldout.chosen] == ["dev"]

        assert_that(result, only(check))
    assert len(read_lines(tmp_path / "final/dev/source.txt")) == 1


def test_mark_duplicates(tmp_path: Path, blocks: list[Block]) -> None:
    with pipeline() as p:
        cleaned(p, tmp_path, blocks)
    with pipeline() as p:
        totals = singleton(p, "Totals", TOTALS)
        inventory = p | beam.Create([Inventory((), {}, {"train": 3})])
        result = inventory | MarkDuplicates(str(tmp_path), totals)
        assert_that(result, equal_to([Repeats(str(tmp_path), 1, 3)]))
    repeats = Repeats(str(tmp_path), 1, 3)
    assert [repeats.rows(block) for block in blocks] == [set(), {0}, set()]


def count(p: beam.Pipeline, folder: Path, blocks: list[Block], heldout: Any) -> Any:
    return cleaned(p, folder, blocks) | CountWords(
        str(folder),
        str(folder),
        f"{folder}/done",
        block_lines=3,
        vocabularies=[(("source",), None), (("target",), 2)],
        inventory=singleton(p, "Inventory", Inventory((), {}, {"train": 3})),
        shared=[heldout],
    )


def test_count_words(tmp_path: Path, blocks: list[Block]) -> None:
    (tmp_path / "done").mkdir()
    with pipeline() as p:
        result = count(p, tmp_path, blocks, singleton(p, "Held", held_out(tmp_path, ("e",))))

        def check(counted: Counted) -> None:
            assert counted.report == CountReport(4, {"overlap_with_dev_or_test": 1})
            source, target = (counts.read() for counts in counted.merged)
            assert source.words == {"a": 2, "b": 2, "c": 1, "d": 1}
            assert target.words == {"x": 2, "z": 2} and target.distinct == 3

        assert_that(result, only(check))


def test_no_words_are_counted_after_a_mistake(tmp_path: Path, blocks: list[Block]) -> None:
    (tmp_path / "done").mkdir()
    with pipeline() as p:
        result = count(p, tmp_path, blocks, singleton(p, "Held", FAILED))
        assert_that(result, equal_to([FAILED]))
    assert not list((tmp_path / "done").iterdir())


def test_learn_subwords(tmp_path: Path, blocks: list[Block]) -> None:
    (tmp_path / "done").mkdir()
    config = PreprocessConfig(shared_vocabulary=False)
    with pipeline() as p:
        totals = singleton(p, "Totals", TOTALS)
        counted = count(p, tmp_path, blocks, singleton(p, "Held", held_out(tmp_path)))
        learned = counted | LearnSubwords(plan_vocabularies(config), str(tmp_path), totals)

        def check(made: tuple[Vocabulary, ...]) -> None:
            assert [each.path for each in made] == [
                "subwords.source.model",
                "subwords.target.model",
            ]
            assert all((tmp_path / each.path).exists() for each in made)

        assert_that(learned, only(check))


def test_nothing_is_learned_from_no_pair(tmp_path: Path) -> None:
    with pipeline() as p:
        totals = singleton(p, "Totals", {"train": CleanReport(6, 0, {"length_ratio": 6})})
        counted = p | beam.Create([Counted(CountReport(0, {}), ())])
        learned = counted | LearnSubwords([], str(tmp_path), totals)
        expected = "no pair is left to train on: of 6 read, length_ratio drops 6"

        def check(stop: Stop) -> None:
            assert stop.message.startswith(expected)

        assert_that(learned, only(check))


@pytest.mark.parametrize(("lines", "shapes"), [(6, ((2, 2), (3, 3))), (60_000, ((2, 2), (4, 4)))])
def test_choose_shapes(
    tmp_path: Path, blocks: list[Block], lines: int, shapes: tuple[tuple[int, int], ...]
) -> None:
    encoding = Encoding(str(tmp_path), vocabularies(tmp_path))
    with pipeline() as p:
        cleaned(p, tmp_path, blocks)
    with pipeline() as p:
        heldout = singleton(p, "Held", held_out(tmp_path, lines=lines))
        sample = LengthSample(str(tmp_path), 4)
        chosen = (
            p
            | beam.Create(blocks)
            | ChooseShapes(sample, singleton(p, "Encoding", encoding), heldout)
        )
        assert_that(chosen, equal_to([shapes]))


def test_encode_pairs_and_write_manifest(tmp_path: Path) -> None:
    final = tmp_path / "final"
    final.mkdir()
    both = vocabularies(final)
    encoding, shapes = Encoding(str(final), both), ((3, 3),)
    blocks = training_blocks(2)
    for block in blocks:
        write_clean_pairs(str(tmp_path), block.name, [("a b", "x"), ("c", f"y {block.name}")])
    config = PreprocessConfig().resolved()
    heldout = held_out(tmp_path)
    stop_path = f"{tmp_path}/stop.json"
    with pipeline() as p:
        heldout_side, shapes_side = singleton(p, "Held", heldout), singleton(p, "Shapes", shapes)
        sides = [singleton(p, "Encoding", encoding), shapes_side, heldout_side]
        encoded = (
            p
            | beam.Create(blocks)
            | EncodePairs(str(tmp_path), str(final), str(tmp_path), shared=sides)
        )
        inventory = singleton(p, "Inventory", Inventory((), {}, {"train": 2}))
        shared = [inventory, heldout_side, singleton(p, "Vocabularies", both), shapes_side]
        manifest = encoded | WriteManifest(config, str(final), stop_path, shared=shared)
        assert_that(manifest, equal_to([str(final)]))
        kept = encoded | beam.Map(lambda result: (result[0].index, result[1].kept))
        assert_that(kept, equal_to([(0, 1), (1, 1)]), label="kept")
    mark_completed(final)
    dataset = load_dataset(final)
    assert dataset.counts["train"]["too_long"] == 2 and dataset.splits["train"].pairs == 2
    assert not Path(stop_path).exists()


def test_write_manifest_writes_why_there_is_none(tmp_path: Path) -> None:
    results = [(training_blocks(1)[0], EncodeReport((), {}, 0)), FAILED, Stop((0, 3), "later")]
    path = f"{tmp_path}/stop.json"
    with pipeline() as p:
        shared = [singleton(p, name, {}) for name in "abcd"]
        write = WriteManifest(PreprocessConfig(), str(tmp_path), path, shared=shared)
        assert_that(p | beam.Create(results) | write, equal_to([FAILED]))
    assert Stop.read(path) == FAILED
    assert not (tmp_path / "dataset.json").exists()
