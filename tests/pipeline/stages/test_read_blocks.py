from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to

from pipeline.blocks.inventory import InputTask, Inventory, take_inventory
from pipeline.blocks.stop import Stop
from pipeline.corpora.blocks import Block, read_span
from pipeline.corpora.inputs import Input, file_texts, table_files
from pipeline.corpora.readers import Columns
from pipeline.stages.read_blocks import ReadBlocks
from tests.helpers.beam import only, pipeline


def inputs_of(folder: Path) -> list[Input]:
    """Returns a pair of files of 3 lines and a table of 5."""
    (folder / "s").write_text("one\ntwo\nthree\n")
    (folder / "t").write_text("eins\nzwei\ndrei\n")
    (folder / "x.tsv").write_text("".join(f"s{n}\tt{n}\n" for n in range(5)))
    tables = table_files([str(folder / "x.tsv")], Columns(("en", "de")), "utf-8")
    return [*file_texts([str(folder / "s")], [str(folder / "t")]), *tables]


def text_of(block: Block) -> tuple[int, int, list[str], list[str]]:
    return block.index, block.siblings, read_span(block.source), read_span(block.target)


def test_blocks_are_numbered_over_all_inputs_of_a_split(tmp_path: Path) -> None:
    tasks = [InputTask("train", n, each) for n, each in enumerate(inputs_of(tmp_path))]
    with pipeline() as p:
        read = ReadBlocks(2, str(tmp_path), take_inventory)
        blocks, inventory = p | beam.Create(tasks[::-1]) | read
        expected = [
            (0, 5, ["one", "two"], ["eins", "zwei"]),
            (1, 5, ["three"], ["drei"]),
            (2, 5, ["s0", "s1"], ["t0", "t1"]),
            (3, 5, ["s2", "s3"], ["t2", "t3"]),
            (4, 5, ["s4"], ["t4"]),
        ]
        assert_that(blocks | beam.Map(text_of), equal_to(expected))

        def check(inventory: Inventory) -> None:
            assert inventory.lines == {"train": 8} and inventory.blocks == {"train": 5}
            assert [corpus.name for corpus in inventory.corpora] == [
                f"{tmp_path / 's'} + {tmp_path / 't'}",
                str(tmp_path / "x.tsv"),
            ]

        assert_that(inventory, only(check), label="inventory")


def test_the_first_mistake_in_order_leaves_no_blocks(tmp_path: Path) -> None:
    texts = file_texts([str(tmp_path / "s")] * 2, [str(tmp_path / "t")] * 2)
    (tmp_path / "s").write_text("one\n")
    (tmp_path / "t").write_text("eins\nzwei\n")
    (tmp_path / "good").mkdir()
    good, _ = inputs_of(tmp_path / "good")
    tasks = [
        InputTask("dev", 0, texts[0]),
        InputTask("train", 1, texts[1]),
        InputTask("train", 0, good),
    ]
    with pipeline() as p:
        read = ReadBlocks(2, str(tmp_path), take_inventory)
        blocks, inventory = p | beam.Create(tasks) | read
        assert_that(blocks, equal_to([]))

        def check(stop: Stop) -> None:
            assert stop.place == (0, 1) and "s has 1 lines but" in stop.message

        assert_that(inventory, only(check), label="inventory")


@pytest.mark.parametrize("folder", ["raw", "mem://bucket/raw"])
def test_what_workers_cannot_read_is_cut_before(tmp_path: Path, folder: str) -> None:
    raw = folder if "://" in folder else str(tmp_path)
    for number, each in enumerate(inputs_of(tmp_path)):
        task = InputTask.prepare("train", number, each, 2, raw)
        is_cut = task.parallel_text is None
        assert is_cut == ("://" in folder)
        blocks = task.cut(2, raw).blocks
        assert [block.lines for block in blocks] == ([2, 1], [2, 2, 1])[number]
        paths = {span.path for block in blocks for span in (block.source, block.target)}
        assert all(path.startswith(raw) for path in paths)
