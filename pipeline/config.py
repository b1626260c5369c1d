"""What a user may choose about preprocessing: one frozen field per flag."""

import dataclasses
import os
from dataclasses import field
from typing import Any, Literal

from pipeline.cleaning.rules import CleaningConfig, PairRules
from pipeline.corpus_config import CorpusConfig
from pipeline.subwords.bpe_dropout import BpeDropout

DEFAULT_VOCABULARY_SIZES = {"bpe": 37_000, "wordpiece": 32_000}  # §5.1: EN-DE and EN-FR
BUILTIN_VOCABULARY_SIZE = 2_000
_EVALUATION = ("dev", "test")
# These change where and how fast things happen, never a byte of the result.
_NOT_CONTENT = ("output_dir", "cache_dir", "num_workers", "runner", "dry_run")


@dataclasses.dataclass(frozen=True)
class PreprocessConfig:
    """Corpus, subwords and buckets of a dataset directory."""

    output_dir: str = field(
        default="data/demo",
        metadata={
            "help": "Dataset directory to write, a local one or a URL such as gs://bucket/mine; "
            "made if missing."
        },
    )
    source_files: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Training text, one sentence a line, or SGML; local files or URLs such as "
            "s3://bucket/train.en; plain, .gz, .bz2, .xz or .zst; "
            "ARCHIVE::FILE names a file in a tar or zip archive. Nothing given, nothing named: "
            "the built-in corpus."
        },
    )
    target_files: tuple[str, ...] = field(
        default=(), metadata={"help": "Its translations, file by file and line by line."}
    )
    dev_source_files: tuple[str, ...] = field(
        default=(), metadata={"help": "Development text, in the same form."}
    )
    dev_target_files: tuple[str, ...] = field(default=(), metadata={"help": "Its translations."})
    test_source_files: tuple[str, ...] = field(
        default=(), metadata={"help": "Test text, in the same form."}
    )
    test_target_files: tuple[str, ...] = field(default=(), metadata={"help": "Its translations."})
    corpus: CorpusConfig = field(
        default=CorpusConfig(), metadata={"help": "Other places where pairs come from."}
    )
    holdout_pairs: int = field(
        default=1000,
        metadata={
            "help": "Pairs to hold out of training for each of dev and test whose files are not "
            "given, at most 5 % of the corpus for each; chosen by a hash of the source sentence."
        },
    )
    source_language: str = field(
        default="en", metadata={"help": "Language code of the source text."}
    )
    target_language: str = field(
        default="de", metadata={"help": "Language code of the target text."}
    )
    subwords: Literal["bpe", "wordpiece"] = field(
        default="bpe",
        metadata={"help": "Subwords: SentencePiece BPE, or TensorFlow Text wordpiece."},
    )
    shared_vocabulary: bool = field(
        default=True,
        metadata={
            "help": "One vocabulary for both languages and so one embedding matrix (§3.4, §5.1); "
            "else one for each."
        },
    )
    subwords_model: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Existing subwords to use, nothing is learned: a SentencePiece model or a list "
            "of wordpieces, such as DIR/subwords.model of another dataset; two, source and target, "
            "if the vocabulary is not shared."
        },
    )
    vocabulary_size: int | None = field(
        default=None,
        metadata={
            "help": f"Subwords in a vocabulary; unset: {DEFAULT_VOCABULARY_SIZES['bpe']} of BPE "
            f"or {DEFAULT_VOCABULARY_SIZES['wordpiece']} wordpieces (§5.1), or "
            f"{BUILTIN_VOCABULARY_SIZE} for the built-in corpus."
        },
    )
    bpe_dropout: float = field(
        default=0.0,
        metadata={
            "help": "Probability of leaving out a merge of BPE in the training text, 0.1 usually "
            "(Provilkov et al. 2020); 0 for none. Dev, test and translation use all merges."
        },
    )
    bpe_dropout_samples: int = field(
        default=8,
        metadata={
            "help": "Segmentations of every training pair that BPE-dropout draws; an epoch has all."
        },
    )
    max_length: int = field(
        default=256,
        metadata={
            "help": "Longest sentence in subwords, end symbol included; longer pairs are dropped."
        },
    )
    cleaning: CleaningConfig = field(
        default=CleaningConfig(), metadata={"help": "Rules that drop training pairs."}
    )
    block_lines: int = field(
        default=20_000,
        metadata={"help": "Lines in a block, the unit of parallel work and of shards."},
    )
    num_workers: int = field(
        default=1,
        metadata={
            "help": "Workers of DirectRunner on this machine: processes, or threads with Beam's "
            "--direct_running_mode=multi_threading. Above 1, also what DataflowRunner starts with."
        },
    )
    runner: str = field(
        default="DirectRunner",
        metadata={
            "help": "Beam runner: DirectRunner, which downloads nothing, DaskRunner, "
            "PortableRunner, FlinkRunner, SparkRunner, DataflowRunner or a class's full name. "
            "Beam's own options (--project, --flink_master …) are given as Beam users give them."
        },
    )

    dry_run: bool = field(
        default=False,
        metadata={"help": "Show what each cleaning rule drops of a sample; write nothing."},
    )

    def __post_init__(self) -> None:
        """Refuses what cannot work.

        Raises:
          ValueError: names the flag, what it received and what it expects.
        """
        for name, least in (
            ("holdout_pairs", 0),
            ("bpe_dropout_samples", 1),
            ("max_length", 2),
            ("block_lines", 1),
            ("num_workers", 1),
        ):
            if getattr(self, name) < least:
                received = f"--{name}={getattr(self, name)}"
                raise ValueError(f"received {received}: expected at least {least}")
        if not 0 <= self.bpe_dropout < 1:
            received = f"--bpe_dropout={self.bpe_dropout}"
            raise ValueError(f"received {received}: expected at least 0 and below 1")
        if self.bpe_dropout and self.subwords != "bpe":
            raise ValueError(
                f"received --bpe_dropout with --subwords={self.subwords}: it needs bpe"
            )
        expected_models = 1 if self.shared_vocabulary else 2
        if len(self.subwords_model) not in (0, expected_models):
            received = f"--subwords_model={','.join(self.subwords_model)}"
            sharing = f"--shared_vocabulary={str(self.shared_vocabulary).lower()}"
            raise ValueError(
                f"received {received}: with {sharing} expected {expected_models} "
                f"file{'s' * (expected_models > 1)}"
            )
        for split in ("", "dev_", "test_"):
            sides = (f"{split}source_files", f"{split}target_files")
            if bool(getattr(self, sides[0])) != bool(getattr(self, sides[1])):
                raise ValueError(f"received only one of --{sides[0]} and --{sides[1]}: give both")
        if self.is_builtin and self._is_evaluation_given:
            raise ValueError(
                "received dev or test data alone: give --source_files, --pair_files or --dataset "
                "as well"
            )

    @property
    def is_builtin(self) -> bool:
        """Returns whether the pairs come from the built-in corpus."""
        return not (self.source_files or self.corpus.pair_files or self.corpus.dataset)

    @property
    def name(self) -> str:
        """Returns what to call the dataset: after the first thing it is made of."""
        files = (*self.source_files, *self.corpus.pair_files)
        return self.corpus.dataset or (os.path.basename(files[0]) if files else "builtin")

    @property
    def _is_evaluation_given(self) -> bool:
        corpus = self.corpus
        files = (self.dev_source_files, self.test_source_files, *map(corpus.tables, _EVALUATION))
        return any(files) or bool(corpus.dev_dataset or corpus.test_dataset)

    def resolved(self) -> "PreprocessConfig":
        """Returns the configuration with its dependent default filled in.

        The size of given subwords is theirs, so it stays unset.
        """
        if self.subwords_model:
            return self
        usual = DEFAULT_VOCABULARY_SIZES[self.subwords]
        default = BUILTIN_VOCABULARY_SIZE if self.is_builtin else usual
        size = default if self.vocabulary_size is None else self.vocabulary_size
        return dataclasses.replace(self, vocabulary_size=size)

    @property
    def dropout(self) -> BpeDropout:
        """Returns how BPE-dropout segments the training text."""
        return BpeDropout(self.bpe_dropout, self.bpe_dropout_samples if self.bpe_dropout else 1)

    @property
    def rules(self) -> PairRules:
        """Returns the cleaning rules that look at one pair, for this pair of languages."""
        return PairRules(self.cleaning, self.source_language, self.target_language)

    def content(self) -> dict[str, Any]:
        """Returns the fields that decide the bytes of the result, as JSON values."""
        values = dataclasses.asdict(self.resolved())
        values |= values.pop("cleaning") | values.pop("corpus")
        values = {name: value for name, value in values.items() if name not in _NOT_CONTENT}
        return {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}
