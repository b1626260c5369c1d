"""ChooseShapes: shapes of rows from a histogram of lengths, which the runner combines."""

from collections.abc import Iterator, Mapping
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsSideInput

from pipeline.blocks.encode_block import Encoding
from pipeline.blocks.heldout import HeldOut
from pipeline.blocks.shapes import Histogram, LengthSample, add_histograms
from pipeline.blocks.stop import first_stop
from pipeline.corpora.blocks import Block
from pipeline.stages.merging import as_merged
from pipeline.stages.tasks import ConnectedDoFn, RunOnce, options_of


class ChooseShapes(beam.PTransform):
    """Measures the first pairs of every block, and chooses the shapes of rows.

    Args:
        sample: what is measured.
        encoding: side input, an `Encoding`.
        heldout: side input, a `HeldOut`.
    """

    def __init__(self, sample: LengthSample, encoding: AsSideInput, heldout: AsSideInput) -> None:
        super().__init__()
        self._sample = sample
        self._sides = encoding, heldout

    def expand(self, blocks: Any) -> Any:
        """Returns a collection of one tuple of shapes."""
        lengths = blocks | "MeasureLengths" >> beam.ParDo(
            _MeasureLengths(self._sample, options_of(blocks)), *self._sides
        )
        histogram = as_merged(lengths, "AddHistograms", add_histograms)
        return blocks.pipeline | "Choose" >> RunOnce(self._sample.choose, histogram, *self._sides)


class _MeasureLengths(ConnectedDoFn):
    def __init__(self, sample: LengthSample, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._sample = sample

    def process(self, block: Block, encoding: Encoding, heldout: HeldOut) -> Iterator[Histogram]:
        """Yields the histogram of a block's first pairs."""
        if not first_stop([encoding, heldout]):
            yield self._sample.measure(block, encoding, heldout)
