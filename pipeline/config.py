"""Configuration of preprocessing: one frozen field per flag."""

import dataclasses
import os
from typing import Any, Literal

from pipeline.cleaning.rules import CleaningConfig, PairRules
from pipeline.common.errors import UserError
from pipeline.common.settings import as_flags, require, require_choice, require_range, setting
from pipeline.corpora.catalog import DATASETS
from pipeline.corpora.corpus_config import CorpusConfig
from pipeline.corpora.inputs import BUILTIN_LANGUAGES, BUILTIN_NAME
from pipeline.corpora.languages import Languages, find_languages
from pipeline.corpora.treebank import TreebankConfig
from pipeline.dataset.trees import TREES
from pipeline.subwords.bpe_dropout import BpeDropout
from pipeline.subwords.sharing import SharingConfig, taken_settings
from pipeline.subwords.vocabulary_size import LARGEST, LEAST, SMALLEST_CHOICE

BUILTIN_VOCABULARY_SIZE = 2_000
# These change where and how fast things happen, never a byte of the result.
_NOT_CONTENT = ("output_dir", "cache_dir", "num_workers", "runner", "dry_run")


@dataclasses.dataclass(frozen=True)
class PreprocessConfig:
    """Corpus, subwords and buckets of a dataset directory.

    Raises:
        ValueError: if a value is out of range or values contradict each other.
    """

    output_dir: str = setting(
        "data/demo",
        "Dataset directory to write, a local one or a URL such as gs://bucket/mine; created if "
        "missing.",
    )
    source_files: tuple[str, ...] = setting(
        (),
        "Training text, one sentence per line, or SGML; local files or URLs such as "
        "s3://bucket/train.en; plain, .gz, .bz2, .xz or .zst; ARCHIVE::FILE names a file in a tar "
        "or zip archive. Default, if no data set is named either: the built-in corpus.",
    )
    target_files: tuple[str, ...] = setting((), "Its translations, file by file and line by line.")
    dev_source_files: tuple[str, ...] = setting((), "Development text, in the same form.")
    dev_target_files: tuple[str, ...] = setting((), "Its translations.")
    test_source_files: tuple[str, ...] = setting((), "Test text, in the same form.")
    test_target_files: tuple[str, ...] = setting((), "Its translations.")
    corpus: CorpusConfig = setting(CorpusConfig(), "Other places where pairs come from.")
    treebank: TreebankConfig = setting(TreebankConfig(), "Trees, for constituency parsing.")
    sharing: SharingConfig = setting(SharingConfig(), "What datasets of a mixture share.")
    holdout_pairs: int = setting(
        1000,
        "Pairs to hold out of training for dev and for test where their files are not given, at "
        "most 5 % of its pairs for each; chosen by a hash of the source sentence.",
    )
    source_language: str | None = setting(
        None, "Source language code; unset: that of the data set or of file names, else en."
    )
    target_language: str | None = setting(
        None, "Target language code; unset: as --source_language, else de."
    )
    subwords: Literal["bpe", "wordpiece"] = setting(
        "bpe", "Subwords: SentencePiece BPE, or TensorFlow Text wordpiece."
    )
    shared_vocabulary: bool = setting(
        True,
        "One vocabulary for both languages and so one embedding matrix (§3.4, §5.1); else one for "
        "each, as words and trees always have.",
    )
    subwords_model: tuple[str, ...] = setting(
        (),
        "Existing subwords to use instead of learning them: a SentencePiece model or a list of "
        "wordpieces, such as DIR/subwords.model of another dataset; two, source and target, if "
        "the vocabulary is not shared.",
    )
    vocabulary_size: int | None = setting(
        None,
        "Subwords in a vocabulary; unset: chosen by the number of training pairs, from "
        f"{SMALLEST_CHOICE} to the paper's {LARGEST['bpe']} of BPE or {LARGEST['wordpiece']} "
        f"wordpieces (§5.1); {BUILTIN_VOCABULARY_SIZE} for the built-in corpus.",
    )
    target_vocabulary_size: int | None = setting(
        None,
        "Subwords in the target's own vocabulary; unset: as --vocabulary_size. Trees have a "
        "vocabulary of all their symbols.",
    )
    bpe_dropout: float = setting(
        0.0,
        "Probability of skipping a BPE merge in the training text, usually 0.1 (Provilkov et al. "
        "2020); 0 for none. Dev, test and translation use all merges.",
    )
    bpe_dropout_samples: int = setting(
        8, "Random segmentations per training pair under BPE-dropout; every epoch contains each."
    )
    max_length: int = setting(
        256, "Longest sentence in subwords, end symbol included; longer pairs are dropped."
    )
    cleaning: CleaningConfig = setting(CleaningConfig(), "Rules that drop training pairs.")
    block_lines: int = setting(20_000, "Lines in a block, the unit of parallel work and of shards.")
    write_clean_text: bool = setting(
        False,
        "Also write the text of the kept pairs, Parquet files with the columns `source` and "
        "`target`, one per block; `dataset.json` names them.",
    )
    num_workers: int = setting(
        1,
        "Workers of DirectRunner on this machine: processes, or threads with Beam's "
        "--direct_running_mode=multi_threading. Above 1, also what DataflowRunner starts with.",
    )
    runner: str = setting(
        "DirectRunner",
        "Beam runner: DirectRunner, which downloads nothing, PortableRunner, "
        "FlinkRunner, SparkRunner, DataflowRunner or a class's full name. Beam's own options "
        "(--project, --flink_master …) are given as Beam users give them.",
    )
    dry_run: bool = setting(
        False, "Show what each cleaning rule drops from a sample; write nothing."
    )

    def __post_init__(self) -> None:
        require_range(self, "bpe_dropout_samples", "block_lines", "num_workers", at_least=1)
        require_range(self, "holdout_pairs", at_least=0)
        require_range(self, "max_length", at_least=2)  # a subword and the end symbol
        require_range(self, "bpe_dropout", at_least=0, below=1)
        require_choice(self, "subwords")
        require(
            not self.bpe_dropout or self.subwords == "bpe",
            "--subwords=bpe, or no --bpe_dropout",
            as_flags(self, "bpe_dropout", "subwords"),
        )
        self._require_vocabularies()
        self._require_consistent_inputs()

    def _require_vocabularies(self) -> None:
        is_shared = self.shared_vocabulary and not self.has_trees
        require(
            len(self.subwords_model) in (0, 1 if is_shared else 2),
            "one file" if is_shared else "two files, of source and target",
            as_flags(self, "subwords_model", "shared_vocabulary"),
        )
        for name in ("vocabulary_size", "target_vocabulary_size"):
            if getattr(self, name) is not None and not self.subwords_model:
                require_range(self, name, at_least=LEAST[self.subwords])
        tags, source_tag = self.sharing.tags, self.sharing.source_tag
        is_given = self.subwords_model or self.sharing.like
        require(
            not (tags and is_given),
            "no --tags: the given subwords have the tags that they were learned with",
            as_flags(self.sharing, "tags"),
        )
        require(
            bool(is_given) or source_tag in (None, *tags),
            "one of --tags, or subwords with this tag by --like",
            as_flags(self.sharing, "source_tag", "tags"),
        )
        require(
            self.target_vocabulary_size is None or not (is_shared or self.has_trees),
            "--shared_vocabulary=false as well, and no --trees",
            as_flags(self, "target_vocabulary_size"),
        )

    def _require_consistent_inputs(self) -> None:
        for split in ("", "dev_", "test_"):
            self._require_both_sides(f"{split}source_files", f"{split}target_files")
        require(
            not (self.is_builtin and self._has_own_evaluation),
            "--source_files, --pair_files or --dataset as well",
            "dev or test data alone",
        )
        if self.has_trees:
            pairs = self.source_files or self.corpus.pair_files or self.corpus.dataset
            received = as_flags(self.treebank, "trees")
            require(not pairs, "no other pairs", received)
            target = as_flags(self, "target_language")
            require(self.target_language in (None, TREES), f"no {target}", received)
            tag = as_flags(self.sharing, "source_tag")
            require(not self.sharing.source_tag, f"no {tag}, which no tree contains", received)

    def _require_both_sides(self, source: str, target: str) -> None:
        for side, counterpart in ((source, target), (target, source)):
            require(
                bool(getattr(self, counterpart)) or not getattr(self, side),
                f"--{counterpart} as well",
                as_flags(self, side),
            )

    @property
    def is_builtin(self) -> bool:
        """Returns whether the pairs come from the built-in corpus."""
        corpus = self.corpus
        return not (self.source_files or corpus.pair_files or corpus.dataset or self.has_trees)

    @property
    def has_trees(self) -> bool:
        """Returns whether the pairs come from trees."""
        return bool(self.treebank.trees)

    @property
    def _has_own_evaluation(self) -> bool:
        files = (self.dev_source_files, self.test_source_files)
        tables = (self.corpus.dev_pair_files, self.corpus.test_pair_files)
        return any((*files, *tables, self.corpus.dev_dataset, self.corpus.test_dataset))

    @property
    def name(self) -> str:
        """Returns the dataset's name, that of its first input."""
        files = (*self.source_files, *self.corpus.pair_files, *self.treebank.trees)
        return self.corpus.dataset or (os.path.basename(files[0]) if files else BUILTIN_NAME)

    @property
    def languages(self) -> Languages:
        """Returns the languages of source and target, and how they are known."""
        named = DATASETS.get(self.corpus.dataset or "")
        known = named.languages if named else None
        if self.has_trees:
            known = self.source_language or "en", TREES
        return find_languages(
            (self.source_language, self.target_language),
            BUILTIN_LANGUAGES if self.is_builtin else known,
            (self.source_files, self.target_files),
        )

    def resolved(self) -> "PreprocessConfig":
        """Returns the configuration with the defaults filled in that depend on other fields.

        The vocabulary size stays unset where the subwords are given or the corpus will decide.

        Raises:
            UserError: `like` names no dataset, or one that another flag contradicts.
        """
        if self.sharing.like:
            config = self._like(self.sharing.like)
            if config != self:
                return config.resolved()
        source_language, target_language = self.languages.codes
        size = self.vocabulary_size
        if size is None and self.is_builtin and not self.subwords_model:
            size = BUILTIN_VOCABULARY_SIZE
        cleaning = self.cleaning
        if self.has_trees:  # a word has several symbols
            cleaning = dataclasses.replace(cleaning, max_length_ratio=0.0)
        return dataclasses.replace(
            self,
            source_language=source_language,
            target_language=target_language,
            vocabulary_size=size,
            shared_vocabulary=self.shared_vocabulary and not self.has_trees,
            cleaning=cleaning,
        )

    def _like(self, directory: str) -> "PreprocessConfig":
        """Returns the configuration with what it takes over from another dataset."""
        taken = taken_settings(directory)
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        for name, value in taken.items():
            if getattr(self, name) not in (defaults[name], value):
                raise UserError(
                    f"received --like={directory} with {as_flags(self, name)}: expected no "
                    f"--{name}, which is taken over from that dataset"
                )
        return dataclasses.replace(self, **taken)

    @property
    def dropout(self) -> BpeDropout:
        """Returns how BPE-dropout segments the training text."""
        return BpeDropout(self.bpe_dropout, self.bpe_dropout_samples if self.bpe_dropout else 1)

    @property
    def rules(self) -> PairRules:
        """Returns the cleaning rules that look at one pair, for this pair of languages."""
        return PairRules(self.cleaning, *self.languages.codes)

    def content(self) -> dict[str, Any]:
        """Returns the fields that decide the bytes of the result, as JSON values."""
        values = dataclasses.asdict(self.resolved())
        values |= values.pop("cleaning") | values.pop("corpus")
        values |= values.pop("treebank") | values.pop("sharing")
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if name not in _NOT_CONTENT
        }
