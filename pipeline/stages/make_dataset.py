"""MakeDataset: the whole of preprocessing, as one transform over the inputs."""

import dataclasses
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsSideInput, AsSingleton

from pipeline.blocks.clean_block import CleanReport, add_reports
from pipeline.blocks.encode_block import Encoding
from pipeline.blocks.heldout import Choice, HoldOutPairs
from pipeline.blocks.inventory import ClaimFolder
from pipeline.blocks.shapes import LengthSample
from pipeline.blocks.stop import Stop
from pipeline.blocks.vocabularies import plan_vocabularies
from pipeline.config import PreprocessConfig
from pipeline.dataset.schema import Lengths
from pipeline.stages.choose_shapes import ChooseShapes
from pipeline.stages.clean_pairs import CleanPairs
from pipeline.stages.count_words import CountWords
from pipeline.stages.encode_pairs import EncodePairs
from pipeline.stages.hold_out import HoldOut
from pipeline.stages.learn_subwords import LearnSubwords
from pipeline.stages.mark_duplicates import MarkDuplicates
from pipeline.stages.merging import as_merged
from pipeline.stages.read_blocks import ReadBlocks
from pipeline.stages.tasks import RunOnce
from pipeline.stages.write_manifest import WriteManifest
from pipeline.subwords.learning import LIMITS


@dataclasses.dataclass(frozen=True)
class Job:
    """What to make, and where.

    config: resolved configuration.
    output: dataset directory.
    raw: folder of text cut from inputs that are not seekable.
    work: folder of the run's work.
    missing: splits without inputs.
    shapes: shapes of rows that another dataset gives, if any.
    """

    config: PreprocessConfig
    output: str
    raw: str
    work: str
    missing: tuple[str, ...]
    shapes: tuple[Lengths, ...] | None = None

    def folder(self, name: str) -> str:
        """Returns a folder of the run's work."""
        return f"{self.work}/{name}"

    def done(self, verb: str) -> str:
        """Returns the folder of a verb's reports."""
        return self.folder(f"done/{verb}")

    @property
    def stop_path(self) -> str:
        """Returns the file that says why a run made no manifest."""
        return f"{self.work}/stop.json"


class MakeDataset(beam.PTransform):
    """From inputs to `dataset.json`, all but the publication of the finished files.

    inputs ─ReadBlocks─▶ blocks ─CleanPairs─▶ pairs ─CountWords─▶ counts ─LearnSubwords─▶ subwords
                                               │ │                            ChooseShapes─▶ shapes
                                               │ └─MarkDuplicates─▶ repeats ┐        │
                                               ├───HoldOut─▶ dev, test, ────┤        ▼
                                               └─────────────────────▶ EncodePairs─▶ reports
                                                      dataset.json ◀─WriteManifest──────┘
    """

    def __init__(self, job: Job) -> None:
        super().__init__()
        self._job = job

    def expand(self, tasks: Any) -> Any:
        """Returns what `WriteManifest` returns, for a collection of `InputTask`."""
        job, config = self._job, self._job.config
        pairs_folder, final = job.folder("pairs"), job.folder("final")
        claim = ClaimFolder(job.work, job.output)
        blocks, inventory_once = tasks | ReadBlocks(config.block_lines, job.raw, claim)
        inventory = AsSingleton(inventory_once)

        choice = Choice(job.missing, config.holdout_pairs)
        cleaned = blocks | CleanPairs(
            pairs_folder, job.done("CleanPairs"), config.rules, choice.candidates
        )
        totals = as_merged(cleaned | "Totals" >> beam.Map(_total), "AddTotals", _add_totals)
        hold_out = HoldOutPairs(
            choice, config.cleaning.drop_overlap, pairs_folder, final, f"{job.work}/heldout.tsv"
        )
        heldout_once = cleaned | HoldOut(hold_out, inventory, totals)
        heldout = AsSingleton(heldout_once)
        training = [heldout, *self._mark_duplicates(inventory_once, totals)]

        vocabularies = AsSingleton(self._learn(cleaned, inventory, totals, training))
        encoding = AsSingleton(
            tasks.pipeline | "PlanEncoding" >> RunOnce(self._plan_encoding, vocabularies)
        )
        all_blocks = (
            cleaned | "Blocks" >> beam.FlatMap(_list_block),
            heldout_once | "HeldOutBlocks" >> beam.FlatMap(_list_chosen),
        ) | "AllSplits" >> beam.Flatten()
        shapes = AsSingleton(self._choose_shapes(all_blocks, encoding, heldout))
        encoded = all_blocks | EncodePairs(
            pairs_folder,
            final,
            job.done("EncodePairs"),
            shared=[encoding, shapes, *training],
            writes_text=config.write_clean_text,
        )
        return encoded | WriteManifest(
            config, final, job.stop_path, shared=[inventory, heldout, vocabularies, shapes]
        )

    def _mark_duplicates(self, inventory: Any, totals: AsSideInput) -> list[AsSideInput]:
        if not self._job.config.cleaning.drop_duplicates:
            return []
        marked = inventory | MarkDuplicates(self._job.folder("pairs"), totals)
        return [AsSingleton(marked)]

    def _learn(
        self, cleaned: Any, inventory: AsSideInput, totals: AsSideInput, training: list[AsSideInput]
    ) -> Any:
        job, plans = self._job, plan_vocabularies(self._job.config)
        if self._job.config.subwords_model:
            counted = cleaned.pipeline | "CountNothing" >> beam.Create([None])
        else:
            counted = cleaned | CountWords(
                job.folder("pairs"),
                job.folder("counts"),
                job.done("CountWords"),
                block_lines=self._job.config.block_lines,
                vocabularies=[(plan.sides, LIMITS.get(plan.kind)) for plan in plans],
                inventory=inventory,
                shared=training,
            )
        return counted | LearnSubwords(plans, job.folder("final"), totals)

    def _plan_encoding(self, vocabularies: Any) -> Encoding:
        config = self._job.config
        both = vocabularies[0], vocabularies[-1]
        tag = config.sharing.source_tag or ""
        return Encoding(self._job.folder("final"), both, config.dropout, tag)

    def _choose_shapes(self, blocks: Any, encoding: AsSideInput, heldout: AsSideInput) -> Any:
        if self._job.shapes:
            return blocks.pipeline | "GivenShapes" >> beam.Create([self._job.shapes])
        sample = LengthSample(self._job.folder("pairs"), self._job.config.max_length)
        return blocks | ChooseShapes(sample, encoding, heldout)


def _total(cleaned: Any) -> Any:
    if isinstance(cleaned, Stop):
        return cleaned
    block, report = cleaned
    return {block.split: report}


def _add_totals(totals: Any) -> dict[str, CleanReport]:
    by_split: dict[str, list[CleanReport]] = {}
    for total in totals:
        for split, report in total.items():
            by_split.setdefault(split, []).append(report)
    return {split: add_reports(reports) for split, reports in by_split.items()}


def _list_block(cleaned: Any) -> Any:
    if not isinstance(cleaned, Stop):
        yield cleaned[0]


def _list_chosen(heldout: Any) -> Any:
    if not isinstance(heldout, Stop):
        yield from heldout.chosen
