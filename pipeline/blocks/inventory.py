"""Inventory: what the inputs are, known once all are cut into blocks."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.blocks.stop import Stop
from pipeline.common import storage
from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import Block, CutInput, cut_input
from pipeline.corpora.inputs import Input, must_be_cut_here
from pipeline.corpora.spans import Span
from pipeline.dataset.schema import MANIFEST, SPLITS, Corpus
from pipeline.subwords.encoding import ALL_FILE_NAMES

OUR_NAMES = (*SPLITS, *ALL_FILE_NAMES, MANIFEST)  # in a dataset directory
KEY = "key.json"
INPUTS = "inputs.json"
STATUS = "status.json"
VERBS = ("CleanPairs", "CountWords", "EncodePairs")  # those with a report for each block
FOLDERS = ("pairs", "counts", "final", *(f"done/{verb}" for verb in VERBS))  # of a run's work


@dataclasses.dataclass(frozen=True)
class InputTask:
    """An input to cut, or one that the driver has cut; `number` is its place in the split."""

    split: str
    number: int
    parallel_text: Input | None  # None: cut already, into blocks that a file lists

    @classmethod
    def prepare(
        cls, split: str, number: int, parallel_text: Input, block_lines: int, folder: str
    ) -> "InputTask":
        """Returns the task, after cutting the input here if only this process can read it.

        Raises:
            UserError: as `cut_blocks`.
        """
        if not must_be_cut_here(parallel_text, folder):
            return cls(split, number, parallel_text)
        cut = cut_input(split, number, parallel_text, block_lines, folder)
        task = cls(split, number, None)
        data = json.dumps(dataclasses.asdict(cut), ensure_ascii=False)
        write_atomically(task._path(folder), data.encode())
        return task

    def cut(self, block_lines: int, folder: str) -> CutInput:
        """Returns the input's blocks.

        Raises:
            UserError: as `cut_blocks`.
        """
        if self.parallel_text is not None:
            return cut_input(self.split, self.number, self.parallel_text, block_lines, folder)
        values = json.loads(storage.read(self._path(folder)))
        blocks = tuple(map(_to_block, values["blocks"]))
        return CutInput(Corpus(**values["corpus"]), blocks, values["remark"])

    def _path(self, folder: str) -> str:
        return f"{folder}/{self.split}-{self.number:05d}.json"


def _to_block(values: dict[str, Any]) -> Block:
    spans = {side: Span(**values[side]) for side in ("source", "target")}
    return Block(**{**values, **spans})


@dataclasses.dataclass(frozen=True)
class InputSummary:
    """An input that was cut: its place, identity, number of blocks, and a remark or ""."""

    split: str
    number: int
    corpus: Corpus
    blocks: int
    remark: str

    @property
    def place(self) -> tuple[int, int]:
        """Returns what orders inputs."""
        return SPLITS.index(self.split), self.number


@dataclasses.dataclass(frozen=True)
class Inventory:
    """All inputs.

    corpora: identity of each, in order.
    first_blocks: index of the first block of an input, by split and number.
    blocks: number of blocks of each split with inputs.
    remarks: what the user should know.
    """

    corpora: tuple[Corpus, ...]
    first_blocks: Mapping[tuple[str, int], int]
    blocks: Mapping[str, int]
    remarks: tuple[str, ...] = ()

    @property
    def lines(self) -> dict[str, int]:
        """Returns the lines of each split with inputs."""
        return {
            split: sum(corpus.lines for corpus in self.corpora if corpus.split == split)
            for split in self.blocks
        }

    def number_block(self, block: Block, input_number: int) -> Block:
        """Returns a block of an input with its place among the blocks of the split."""
        first = self.first_blocks[block.split, input_number]
        siblings = self.blocks[block.split]
        return dataclasses.replace(block, index=first + block.index, siblings=siblings)

    @property
    def identity(self) -> bytes:
        """Returns JSON of what identifies the inputs."""
        corpora = [dataclasses.asdict(corpus) for corpus in self.corpora]
        return json.dumps(corpora, ensure_ascii=False, sort_keys=True).encode()

    @property
    def status(self) -> bytes:
        """Returns JSON of what the driver shows to the user."""
        values = {"lines": self.lines, "blocks": self.blocks, "remarks": self.remarks}
        return json.dumps(values, ensure_ascii=False).encode()


def take_inventory(summaries: Iterable[InputSummary]) -> Inventory:
    """Returns the inventory of inputs, given in any order."""
    blocks: dict[str, int] = {}
    first_blocks = {}
    ordered = sorted(summaries, key=lambda summary: summary.place)
    for summary in ordered:
        first_blocks[summary.split, summary.number] = blocks.get(summary.split, 0)
        blocks[summary.split] = blocks.get(summary.split, 0) + summary.blocks
    corpora = tuple(summary.corpus for summary in ordered)
    remarks = tuple(summary.remark for summary in ordered if summary.remark)
    return Inventory(corpora, first_blocks, blocks, remarks)


@dataclasses.dataclass(frozen=True)
class ClaimFolder:
    """Decides whether the work of an earlier run is that of these inputs.

    work: folder of the run's work, named by its configuration.
    output: dataset directory, where an interrupted run may have published a part.
    """

    work: str
    output: str

    def __call__(self, summaries: Sequence[InputSummary]) -> Inventory | Stop:
        """Returns the inventory; an empty `Stop` if all work is done."""
        inventory = take_inventory(summaries)
        data = inventory.identity
        path = f"{self.work}/{INPUTS}"
        if not storage.is_file(path) or storage.read(path) != data:
            self._delete_earlier_work()
            write_atomically(path, data)
        for name in FOLDERS:
            storage.make_folder(f"{self.work}/{name}")
        write_atomically(f"{self.work}/{STATUS}", inventory.status)
        folders = (self.output, f"{self.work}/final")
        is_done = any(storage.is_file(f"{folder}/{MANIFEST}") for folder in folders)
        return Stop() if is_done else inventory

    def _delete_earlier_work(self) -> None:
        """Deletes files of other inputs; `INPUTS` first, in case the deletion is interrupted."""
        names = storage.entries(self.work) - {KEY, INPUTS}
        for name in (INPUTS, *sorted(names)):
            storage.delete(f"{self.work}/{name}")
        for name in OUR_NAMES:
            storage.delete(f"{self.output}/{name}")
