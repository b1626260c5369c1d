"""What a user may choose about preprocessing: one frozen field per flag."""

import dataclasses
import os
from typing import Any, Literal

from pipeline.cleaning.rules import CleaningConfig, PairRules
from pipeline.common.settings import as_flags, require, require_choice, require_range, setting
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

    output_dir: str = setting(
        "data/demo",
        "Dataset directory to write, a local one or a URL such as gs://bucket/mine; made if "
        "missing.",
    )
    source_files: tuple[str, ...] = setting(
        (),
        "Training text, one sentence a line, or SGML; local files or URLs such as "
        "s3://bucket/train.en; plain, .gz, .bz2, .xz or .zst; ARCHIVE::FILE names a file in a tar "
        "or zip archive. Nothing given, nothing named: the built-in corpus.",
    )
    target_files: tuple[str, ...] = setting((), "Its translations, file by file and line by line.")
    dev_source_files: tuple[str, ...] = setting((), "Development text, in the same form.")
    dev_target_files: tuple[str, ...] = setting((), "Its translations.")
    test_source_files: tuple[str, ...] = setting((), "Test text, in the same form.")
    test_target_files: tuple[str, ...] = setting((), "Its translations.")
    corpus: CorpusConfig = setting(CorpusConfig(), "Other places where pairs come from.")
    holdout_pairs: int = setting(
        1000,
        "Pairs to hold out of training for each of dev and test whose files are not given, at "
        "most 5 % of the corpus for each; chosen by a hash of the source sentence.",
    )
    source_language: str = setting("en", "Language code of the source text.")
    target_language: str = setting("de", "Language code of the target text.")
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
        "Existing subwords to use, nothing is learned: a SentencePiece model or a list of "
        "wordpieces, such as DIR/subwords.model of another dataset; two, source and target, if "
        "the vocabulary is not shared.",
    )
    vocabulary_size: int | None = setting(
        None,
        f"Subwords in a vocabulary; unset: {DEFAULT_VOCABULARY_SIZES['bpe']} of BPE "
        f"or {DEFAULT_VOCABULARY_SIZES['wordpiece']} wordpieces (§5.1), or "
        f"{BUILTIN_VOCABULARY_SIZE} for the built-in corpus.",
    )
    bpe_dropout: float = setting(
        0.0,
        "Probability of leaving out a merge of BPE in the training text, 0.1 usually (Provilkov "
        "et al. 2020); 0 for none. Dev, test and translation use all merges.",
    )
    bpe_dropout_samples: int = setting(
        8, "Segmentations of every training pair that BPE-dropout draws; an epoch has all."
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

    dry_run: bool = setting(False, "Show what each cleaning rule drops of a sample; write nothing.")

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
        for split in ("", "dev_", "test_"):
            self._require_both_sides(f"{split}source_files", f"{split}target_files")
        require(
            not (self.is_builtin and self._has_own_evaluation),
            "--source_files, --pair_files or --dataset as well",
            "dev or test data alone",
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
    def _has_own_evaluation(self) -> bool:
        corpus = self.corpus
        files = (self.dev_source_files, self.test_source_files, *map(corpus.tables, _EVALUATION))
        return any(files) or bool(corpus.dev_dataset or corpus.test_dataset)

    def _require_both_sides(self, source: str, target: str) -> None:
        for side, counterpart in ((source, target), (target, source)):
            require(
                bool(getattr(self, counterpart)) or not getattr(self, side),
                f"--{counterpart} as well",
                as_flags(self, side),
            )

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
