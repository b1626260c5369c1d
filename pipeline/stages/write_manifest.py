"""WriteManifest: one task, from the reports about all blocks to `dataset.json`."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsList, AsSideInput

from pipeline.blocks.encode_block import EncodeReport
from pipeline.blocks.heldout import HeldOut
from pipeline.blocks.inventory import Inventory
from pipeline.blocks.manifest import make_manifest
from pipeline.blocks.stop import Stop, place_of
from pipeline.cleaning.rule_flags import explain_no_pairs
from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig
from pipeline.corpora.blocks import Block
from pipeline.dataset.schema import SIDES, Lengths, Vocabulary, write_manifest
from pipeline.stages.tasks import ConnectedDoFn, RunOnce, options_of


class WriteManifest(beam.PTransform):
    """Writes the manifest, or the file that says why there is none.

    Args:
        config: resolved configuration.
        final: folder of the dataset's files.
        stop_path: file of a `Stop`.
        shared: side inputs: the inventory, what is held out, the vocabularies, shapes of rows.
    """

    def __init__(
        self,
        config: PreprocessConfig,
        final: str,
        stop_path: str,
        *,
        shared: Sequence[AsSideInput],
    ) -> None:
        super().__init__()
        self._config = config
        self._final = final
        self._stop_path = stop_path
        self._shared = shared

    def expand(self, encoded: Any) -> Any:
        """Returns a collection of one string, the folder, or of a `Stop`."""
        manifest = encoded.pipeline | "Write" >> RunOnce(
            self._write, *self._shared, AsList(encoded)
        )
        function = _WriteStop(self._stop_path, options_of(encoded))
        return manifest | "WriteStop" >> beam.ParDo(function)

    def _write(
        self,
        inventory: Inventory,
        heldout: HeldOut,
        vocabularies: Sequence[Vocabulary],
        shapes: Sequence[Lengths],
        encoded: Sequence[tuple[Block, EncodeReport]],
    ) -> str:
        reports = defaultdict[str, list[EncodeReport]](list)
        for block, report in sorted(encoded, key=lambda result: place_of(result[0])):
            reports[block.split].append(report)
        both = dict(zip(SIDES, (vocabularies[0], vocabularies[-1]), strict=True))
        dataset = make_manifest(
            self._config,
            final=self._final,
            vocabularies=both,
            bucket_shapes=shapes,
            corpora=inventory.corpora,
            cleaned=heldout.cleaned,
            encoded=reports,
        )
        if not dataset.splits["train"].pairs:
            raise UserError(explain_no_pairs(dataset.counts["train"]))
        write_manifest(dataset)
        return self._final


class _WriteStop(ConnectedDoFn):
    def __init__(self, path: str, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._path = path

    def process(self, result: str | Stop) -> Any:
        """Writes a stop, and yields the result."""
        if isinstance(result, Stop) and result.message:
            result.write(self._path)
        yield result
