"""Configuration of where pairs come from, other than two aligned files."""

import dataclasses

from pipeline.common import storage
from pipeline.common.settings import as_flags, require, setting
from pipeline.corpora.catalog import CACHE_DIR, DATASETS, EVALUATION_SETS
from pipeline.corpora.readers import Columns
from pipeline.corpora.spans import is_encoding


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
