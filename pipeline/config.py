"""Configuration of preprocessing: one frozen field per flag."""

import dataclasses
import os
from typing import Any, Literal

from pipeline.cleaning.rules import CleaningConfig, PairRules
from pipeline.common import storage
from pipeline.common.settings import as_flags, require, require_choice, require_range, setting
from pipeline.corpora.catalog import CACHE_DIR, DATASETS, EVALUATION_SETS
from pipeline.corpora.inputs import BUILTIN_LANGUAGES, BUILTIN_NAME
from pipeline.corpora.languages import Languages, find_languages
from pipeline.corpora.readers import Columns
from pipeline.corpora.spans import is_encoding
from pipeline.subwords.bpe_dropout import BpeDropout
from pipeline.subwords.vocabulary_size import LARGEST, LEAST, SMALLEST_CHOICE

BUILTIN_VOCABULARY_SIZE = 2_000
# These change where and how fast things happen, never a byte of the result.
_NOT_CONTENT = ("output_dir", "cache_dir", "num_workers", "runner", "dry_run")


@dataclasses.dataclass(frozen=True)
class CorpusConfig:
    """Named data sets, files that hold both sides, encodings.

    Raises:
        ValueError: if a value is out of range or values contradict each other.
    """

    dataset: str | None = setting(
        None,
        "Named data set to train on, in either direction, with its own dev and test. "
        + "".join(f"{name}: {dataset.description}. " for name, dataset in DATASETS.items())
        + "hf:OWNER/NAME or hf:OWNER/NAME:CONFIGURATION: from the Hugging Face hub.",
    )
    dev_dataset: str | None = setting(
        None,
        "Named evaluation set for dev, in place of the data set's own: "
        f"{', '.join(EVALUATION_SETS)}.",
    )
    test_dataset: str | None = setting(
        None, "Named evaluation set for test; newstest2014 is the full 3003 pairs."
    )
    cache_dir: str = setting(
        CACHE_DIR, "Local folder of downloads; a file put there by hand is used too."
    )
    pair_files: tuple[str, ...] = setting(
        (),
        "Training files that hold both sides: .tsv, .csv, .jsonl, .parquet or .tmx, compressed or "
        "not.",
    )
    dev_pair_files: tuple[str, ...] = setting((), "Development files that hold both sides.")
    test_pair_files: tuple[str, ...] = setting((), "Test files that hold both sides.")
    source_column: str | None = setting(
        None,
        "Source column of files that hold both sides: its number from 1 or its name in the first "
        "row (tsv, csv; unset: 1), or its name (jsonl, parquet, hf; unset: the language code, "
        "alone or in `translation`).",
    )
    target_column: str | None = setting(
        None, "Target column, given as --source_column (tsv, csv; unset: 2)."
    )
    encoding: tuple[str, ...] = setting(
        ("utf-8",),
        "Encoding of the given files; two, as latin-1,utf-8, when source and target files differ.",
    )

    def __post_init__(self) -> None:
        require(
            not storage.is_url(self.cache_dir),
            "a local folder, where downloads are resumed and unpacked; the dataset itself may go "
            "to a URL",
            as_flags(self, "cache_dir"),
        )
        received = as_flags(self, "encoding")
        require(len(self.encoding) in (1, 2), "one encoding, or one for each side", received)
        for encoding in self.encoding:
            require(is_encoding(encoding), "names that Python knows, as utf-8 or latin-1", received)
        require(
            len(set(self.encoding)) == 1 or not any(map(self.tables, ("train", "dev", "test"))),
            "one encoding, because some of the files hold both sides",
            received,
        )

    @property
    def encodings(self) -> tuple[str, str]:
        """Returns the encodings of source and target files."""
        return self.encoding[0], self.encoding[-1]

    def tables(self, split: str) -> tuple[str, ...]:
        """Returns the given files of a split that hold both sides."""
        files = {"train": self.pair_files, "dev": self.dev_pair_files, "test": self.test_pair_files}
        return files[split]

    def columns(self, source_language: str, target_language: str) -> Columns:
        """Returns the columns of source and target in files that hold both."""
        return Columns((source_language, target_language), (self.source_column, self.target_column))


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
    holdout_pairs: int = setting(
        1000,
        "Pairs to hold out of training for dev and for test where their files are not given, at "
        "most 5 % of its pairs for each; chosen by a hash of the source sentence.",
    )
    source_language: str | None = setting(
        None, "Source language code; unset: that of the data set or of file names, else en."
    )
    target_language: str | None = setting(None, "Target language code; unset: likewise, else de.")
    subwords: Literal["bpe", "wordpiece"] = setting(
        "bpe", "Subwords: SentencePiece BPE, or TensorFlow Text wordpiece."
    )
    shared_vocabulary: bool = setting(
        True,
        "One vocabulary for both languages and so one embedding matrix (§3.4, §5.1); else one for "
        "each.",
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
    num_workers: int = setting(
        1,
        "Workers of DirectRunner on this machine: processes, or threads with Beam's "
        "--direct_running_mode=multi_threading. Above 1, also what DataflowRunner starts with.",
    )
    runner: str = setting(
        "DirectRunner",
        "Beam runner: DirectRunner, which downloads nothing, DaskRunner, PortableRunner, "
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
        expected_models = 1 if self.shared_vocabulary else 2
        require(
            len(self.subwords_model) in (0, expected_models),
            "one file" if self.shared_vocabulary else "two files, of source and target",
            as_flags(self, "subwords_model", "shared_vocabulary"),
        )
        if self.vocabulary_size is not None and not self.subwords_model:
            require_range(self, "vocabulary_size", at_least=LEAST[self.subwords])
        for split in ("", "dev_", "test_"):
            self._require_both_sides(f"{split}source_files", f"{split}target_files")
        require(
            not (self.is_builtin and self._has_own_evaluation),
            "--source_files, --pair_files or --dataset as well",
            "dev or test data alone",
        )

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
        return not (self.source_files or self.corpus.pair_files or self.corpus.dataset)

    @property
    def _has_own_evaluation(self) -> bool:
        files = (self.dev_source_files, self.test_source_files)
        tables = (self.corpus.dev_pair_files, self.corpus.test_pair_files)
        return any((*files, *tables, self.corpus.dev_dataset, self.corpus.test_dataset))

    @property
    def name(self) -> str:
        """Returns the dataset's name, that of its first input."""
        files = (*self.source_files, *self.corpus.pair_files)
        return self.corpus.dataset or (os.path.basename(files[0]) if files else BUILTIN_NAME)

    @property
    def languages(self) -> Languages:
        """Returns the languages of source and target, and how they are known."""
        named = DATASETS.get(self.corpus.dataset or "")
        of_dataset = named.languages if named else None
        return find_languages(
            (self.source_language, self.target_language),
            BUILTIN_LANGUAGES if self.is_builtin else of_dataset,
            (self.source_files, self.target_files),
        )

    def resolved(self) -> "PreprocessConfig":
        """Returns the configuration with the defaults filled in that depend on other fields.

        The vocabulary size stays unset where the subwords are given or the corpus will decide.
        """
        source_language, target_language = self.languages.codes
        size = self.vocabulary_size
        if size is None and self.is_builtin and not self.subwords_model:
            size = BUILTIN_VOCABULARY_SIZE
        return dataclasses.replace(
            self,
            source_language=source_language,
            target_language=target_language,
            vocabulary_size=size,
        )

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
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if name not in _NOT_CONTENT
        }
