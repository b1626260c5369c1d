"""EncodePairs: encodes blocks of clean pairs, packs them into rows, writes a shard a bucket."""

from collections.abc import Sequence
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsSideInput

from pipeline.blocks.encode_block import EncodeBlock, EncodeReport
from pipeline.blocks.step import Step
from pipeline.stages.tasks import ProcessBlocks


class EncodePairs(beam.PTransform):
    """Encodes blocks; the result is (block, `EncodeReport`).

    Args:
        pairs_folder: output folder of `CleanPairs`.
        folder: where the shards are written.
        done: folder of the reports.
        shared: side inputs: encoding, shapes of rows, what is held out and, if duplicates are
          dropped, the repeats.
        writes_text: also write the pairs' text.
    """

    def __init__(
        self,
        pairs_folder: str,
        folder: str,
        done: str,
        *,
        shared: Sequence[AsSideInput],
        writes_text: bool = False,
    ) -> None:
        super().__init__()
        function = EncodeBlock(pairs_folder, folder, writes_text)
        self._step = Step("EncodePairs", function, done, EncodeReport)
        self._shared = shared

    def expand(self, blocks: Any) -> Any:
        """Returns the collection of results."""
        return blocks | ProcessBlocks(self._step, *self._shared)
