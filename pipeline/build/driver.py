"""The driver: cuts the corpus into blocks, runs the stages over them, assembles the dataset.

    corpus ─cut─▶ blocks ─CleanPairs─▶ pairs ─CountWords─▶ counts ─learn─▶ subwords
                                         └──────EncodePairs─▶ shards ─▶ dataset.json, COMPLETED

Between two stages the driver reads only reports and counts, never the corpus.
"""

import collections
import itertools
import math
from collections.abc import Sequence
from typing import Any, TypeVar

from absl import logging

from pipeline.build import holdout, manifest
from pipeline.build.find_inputs import find_inputs
from pipeline.build.script_check import warn_of_other_scripts
from pipeline.build.staging import Staging, completed_config, open_staging
from pipeline.build.vocabularies import WordCounts, check_given, make_subwords
from pipeline.cleaning import deduplication
from pipeline.cleaning.rule_flags import explain_no_pairs
from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig
from pipeline.corpora.blocks import Block, cut_blocks, group_blocks
from pipeline.dataset.packing import choose_shapes
from pipeline.dataset.schema import (
    FORMAT_VERSION,
    SIDES,
    SPLITS,
    Corpus,
    Dataset,
    Lengths,
    Pair,
    Vocabulary,
    load_dataset,
    write_manifest,
)
from pipeline.stages.clean_pairs import CleanPairs, CleanReport
from pipeline.stages.count_words import CountReport, CountWords, read_counts
from pipeline.stages.encode_pairs import EncodePairs, EncodeReport, encode_pairs, pair_lengths
from pipeline.stages.pair_files import Heldout, read_clean_pairs
from pipeline.stages.stage import BlockMapper, Report, Stage, run_stage
from pipeline.subwords.bpe_dropout import NO_DROPOUT
from pipeline.subwords.encoding import load_subwords

_WORK_VERSION = 2  # of the files between the stages: work in another version is not continued
_COUNTED_GROUPS = 16  # groups of blocks: files of counts to merge, for a corpus of any size
_SAMPLED_PAIRS = 50_000  # for the length histogram: a small corpus whole, ≈ 1 s of a large one

_Report = TypeVar("_Report", bound=Report)


def build_dataset(config: PreprocessConfig, map_blocks: BlockMapper) -> Dataset:
    """Makes the dataset directory that the configuration describes, unless it is complete.

    Args:
        config: inputs, output directory and settings.
        map_blocks: runs the stages over blocks, e.g. `beam_pipeline.BeamMapper(options)`.

    Returns:
        The dataset, as the trainer loads it.

    Raises:
        UserError: the inputs, the directory or the vocabulary size cannot be used, or another
            process is preprocessing into the directory.
    """
    config = config.resolved()
    completed = completed_config(config.output_dir)
    if completed is not None:
        _check_same(config, completed)
        logging.info(
            "%s is already complete: nothing to do (if its inputs have changed since, delete it or "
            "choose another --output_dir)",
            config.output_dir,
        )
        return load_dataset(config.output_dir)
    subwords = check_given(config)
    config.rules.chosen("train")  # a rule that cannot be applied raises here, before any work
    with open_staging(config.output_dir) as staging:
        blocks, corpora = _cut(config, staging)
        checksums = [*subwords, *(corpus.sha256 for corpus in corpora)]
        key = {"config": config.content(), "inputs": checksums}
        versions = {"format_version": FORMAT_VERSION, "work_version": _WORK_VERSION}
        warn_of_other_scripts(config.languages, blocks["train"])
        if not staging.claim({**key, **versions}):
            _Build(config, map_blocks, staging, blocks, corpora).run()
        staging.publish()
    return load_dataset(config.output_dir)


def _cut(config: PreprocessConfig, staging: Staging) -> tuple[dict[str, list[Block]], list[Corpus]]:
    """Returns the blocks of each split with inputs, and the identity of every input."""
    blocks: dict[str, list[Block]] = {}
    corpora: list[Corpus] = []
    for split in SPLITS:
        inputs = find_inputs(config, split)
        if inputs:
            blocks[split], split_corpora = cut_blocks(
                split, inputs, config.block_lines, staging.raw
            )
            corpora += split_corpora
    return blocks, corpora


def _check_same(config: PreprocessConfig, completed: dict[str, Any]) -> None:
    """Raises UserError if a complete dataset was made with other flags."""
    before = PreprocessConfig().content() | completed  # newer flags had their defaults
    for name, value in config.content().items():
        if before[name] != value:
            raise UserError(
                f"{config.output_dir} holds a dataset made with {_as_flag(name, before[name])}, "
                f"received {_as_flag(name, value)}: choose another --output_dir"
            )


def _as_flag(name: str, value: Any) -> str:
    """Returns a flag as the user types it, from the JSON value of the data card."""
    if value is None or value == []:
        return f"no --{name}"
    text = ",".join(value) if isinstance(value, list) else str(value)
    return f"--{name}={text.lower() if isinstance(value, bool) else text}"


class _Build:
    """State of a run: the blocks of each split; runs the stages in order."""

    def __init__(
        self,
        config: PreprocessConfig,
        map_blocks: BlockMapper,
        staging: Staging,
        blocks: dict[str, list[Block]],
        corpora: list[Corpus],
    ) -> None:
        self.config = config
        self.staging = staging
        self.blocks = blocks
        self.corpora = corpora
        self.cleaned: dict[str, list[CleanReport]] = {}
        self.heldout: Heldout = frozenset()
        self.map_blocks = map_blocks

    def run(self) -> None:
        """Runs every stage and writes the manifest."""
        self.cleaned = self.clean()
        self.hold_out()
        vocabularies = make_subwords(self.config, self.staging.final, self.count)
        bucket_shapes = self.choose_shapes(vocabularies)
        encoded = self.encode(vocabularies, bucket_shapes)
        dataset = manifest.make_manifest(
            self.config,
            final=self.staging.final,
            vocabularies=vocabularies,
            bucket_shapes=bucket_shapes,
            corpora=self.corpora,
            cleaned=self.cleaned,
            encoded=encoded,
        )
        if not dataset.splits["train"].pairs:
            raise UserError(explain_no_pairs(dataset.counts["train"]))
        write_manifest(dataset)

    def clean(self) -> dict[str, list[CleanReport]]:
        """Cleans the splits with inputs; returns the reports of each."""
        missing = len(SPLITS) - len(self.blocks)
        folder = self.staging.folder("pairs")
        candidates = holdout.count_candidates(missing, self.config.holdout_pairs)
        function = CleanPairs(folder, self.config.rules, candidates)
        reports = self.run_all(Stage("CleanPairs", function, folder, CleanReport))
        if self.config.cleaning.drop_duplicates:
            deduplication.mark(folder, [block.name for block in self.blocks["train"]])
        return reports

    def hold_out(self) -> None:
        """Writes the raw text of dev and test, and chooses what training must not see."""
        heldout: set[str | Pair] = set()
        folder = self.staging.folder("pairs")
        for split in set(SPLITS[1:]) & self.blocks.keys():
            holdout.write_given(split, self.blocks[split], self.staging.final)
            if self.config.cleaning.drop_overlap:
                for block in self.blocks[split]:
                    heldout.update(read_clean_pairs(folder, block.name))
        missing = [split for split in SPLITS[1:] if split not in self.blocks]
        chosen = holdout.choose_heldout_pairs(
            self.blocks["train"],
            self.cleaned["train"],
            folder,
            splits=missing,
            holdout_pairs=self.config.holdout_pairs,
        )
        for split, pairs in chosen.items():
            self.blocks[split] = [holdout.write_chosen(split, pairs, self.staging.final, folder)]
            self.cleaned[split] = [CleanReport(lines=len(pairs), recomposed=0, dropped={})]
            heldout.update(source for source, _ in pairs)
        self.heldout = frozenset(heldout)

    def count(self, sides: Sequence[str]) -> WordCounts:
        """Counts the words of the training pairs on these sides together."""
        folder = self.staging.folder("counts")
        function = CountWords(
            self.staging.folder("pairs"),
            folder,
            self.heldout,
            self.config.cleaning.drop_duplicates,
        )
        groups = group_blocks(self.blocks["train"], _COUNTED_GROUPS)
        stage = Stage("CountWords", function, folder, CountReport)
        reports = run_stage(stage, groups, self.map_blocks)
        counts = collections.defaultdict[str, int](int)
        for side, group in itertools.product(sides, groups):
            for word, count in read_counts(folder, group.name, side):
                counts[word] += count
        pairs = manifest.count_pairs(self.cleaned["train"], reports)
        if not pairs["kept"]:
            raise UserError(explain_no_pairs(pairs))
        return WordCounts(pairs["kept"], counts)

    def choose_shapes(self, vocabularies: dict[str, Vocabulary]) -> tuple[Lengths, ...]:
        """Chooses the shapes of rows from the first pairs of every block, or takes them over."""
        if self.config.sharing.like:
            return load_dataset(self.config.sharing.like).bucket_shapes
        blocks = [block for split in self.blocks.values() for block in split]
        has_few = sum(block.lines for block in blocks) <= _SAMPLED_PAIRS
        first = None if has_few else math.ceil(_SAMPLED_PAIRS / len(blocks))
        paths = (f"{self.staging.final}/{vocabularies[side].path}" for side in SIDES)
        subwords = [load_subwords(path) for path in paths]
        histogram = collections.Counter[Lengths]()
        for block in blocks:
            pairs = read_clean_pairs(self.staging.folder("pairs"), block.name, first)
            dropout = self.config.dropout if block.split == "train" else NO_DROPOUT
            tag = self.config.sharing.source_tag or ""
            first_sample = next(encode_pairs(pairs, subwords, dropout, source_tag=tag))
            lengths = pair_lengths(first_sample)
            histogram.update(pair for pair in lengths if max(pair) <= self.config.max_length)
        longest = self.config.max_length, self.config.max_length
        if histogram and has_few and not self.config.bpe_dropout:  # all lengths are known
            longest = max(source for source, _ in histogram), max(target for _, target in histogram)
        return choose_shapes(histogram, longest)

    def encode(
        self, vocabularies: dict[str, Vocabulary], bucket_shapes: tuple[Lengths, ...]
    ) -> dict[str, list[EncodeReport]]:
        """Encodes all splits into shards; returns the reports of each split's blocks."""
        function = EncodePairs(
            self.staging.folder("pairs"),
            self.staging.final,
            (vocabularies["source"], vocabularies["target"]),
            bucket_shapes,
            self.heldout,
            {split: len(blocks) for split, blocks in self.blocks.items()},
            self.config.cleaning.drop_duplicates,
            self.config.dropout,
            self.config.sharing.source_tag or "",
        )
        folder = self.staging.folder("encoded")
        return self.run_all(Stage("EncodePairs", function, folder, EncodeReport))

    def run_all(self, stage: Stage[_Report]) -> dict[str, list[_Report]]:
        """Runs a stage over the blocks of all splits at once; returns the reports of each."""
        blocks = [block for split in self.blocks.values() for block in split]
        reports = iter(run_stage(stage, blocks, self.map_blocks))
        return {
            split: list(itertools.islice(reports, len(blocks)))
            for split, blocks in self.blocks.items()
        }
