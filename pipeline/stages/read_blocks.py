"""ReadBlocks: inputs to blocks of aligned lines, which later transforms read from their files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsList, AsSingleton

from pipeline.blocks.inventory import InputSummary, InputTask, Inventory
from pipeline.blocks.stop import Stop
from pipeline.common.errors import UserError
from pipeline.corpora.blocks import Block
from pipeline.dataset.schema import SPLITS
from pipeline.stages.tasks import ConnectedDoFn, RunOnce, count, options_of


class ReadBlocks(beam.PTransform):
    """Cuts inputs into blocks, one task per input.

    Text is read in sequence, since only that tells where the lines of two files belong together:
    Beam has no ordered zip. A corpus in many files is read by as many workers. The blocks are
    reshuffled, so the next transform spreads over all workers whatever the number of inputs.

    Args:
        block_lines: lines in a block.
        folder: where inputs that are not seekable are written, one file per block and side.
        take_inventory: makes the inventory of all summaries; a `Stop` ends the work.
    """

    def __init__(
        self,
        block_lines: int,
        folder: str,
        take_inventory: Callable[[Sequence[InputSummary]], Inventory | Stop],
    ) -> None:
        super().__init__()
        self._block_lines = block_lines
        self._folder = folder
        self._take_inventory = take_inventory

    def expand(self, tasks: Any) -> Any:
        """Returns the collection of blocks, empty after a `Stop`, and that of the inventory."""
        function = _CutInput(self._block_lines, self._folder, options_of(tasks))
        cut = tasks | "CutInput" >> beam.ParDo(function).with_outputs("summaries", main="blocks")
        inventory = tasks.pipeline | "TakeInventory" >> RunOnce(
            self._take_inventory, AsList(cut.summaries)
        )
        blocks = (
            cut.blocks
            | "SpreadBlocks" >> beam.Reshuffle()
            | "NumberBlocks" >> beam.FlatMap(_number_block, AsSingleton(inventory))
        )
        return blocks, inventory


class _CutInput(ConnectedDoFn):
    def __init__(self, block_lines: int, folder: str, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._block_lines = block_lines
        self._folder = folder

    def process(self, task: InputTask) -> Iterator[Any]:
        """Yields the input's blocks, and its summary or a `Stop`."""
        summary: InputSummary | Stop
        try:
            cut = task.cut(self._block_lines, self._folder)
        except UserError as error:
            summary = Stop.from_error(error, (SPLITS.index(task.split), task.number))
        else:
            for block in cut.blocks:
                yield task.number, block
            summary = InputSummary(task.split, task.number, cut.corpus, len(cut.blocks), cut.remark)
            count("ReadBlocks", task.split, {"lines": cut.corpus.lines, "blocks": len(cut.blocks)})
        yield beam.pvalue.TaggedOutput("summaries", summary)


def _number_block(numbered: tuple[int, Block], inventory: Inventory | Stop) -> Iterator[Block]:
    input_number, block = numbered
    if not isinstance(inventory, Stop):
        yield inventory.number_block(block, input_number)
