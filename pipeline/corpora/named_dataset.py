"""What a named data set is made of: parts, each one file a language, somewhere on the web."""

import dataclasses
from collections.abc import Mapping

from pipeline.corpora.download import Download


@dataclasses.dataclass(frozen=True)
class WebFile:
    """One language's text: a download, or a file in a downloaded archive.

    In `member`, `{role}` stands for `src` or `ref`: WMT keeps the same text once as the source of
    one direction, once as the reference of the other.
    """

    download: Download
    member: str | None = None


@dataclasses.dataclass(frozen=True)
class Part:
    """Text of one origin in two or more languages, aligned by line."""

    name: str
    files: Mapping[str, WebFile]  # by language code
    pairs: int | None = None  # as others have counted them

    def covers(self, *languages: str) -> bool:
        """Returns whether the part has each of the languages."""
        return set(languages) <= self.files.keys()


@dataclasses.dataclass(frozen=True)
class NamedDataset:
    """A data set which a user calls by name, in either direction."""

    description: str
    languages: tuple[str, str]
    train: tuple[Part, ...]
    dev: str  # names of evaluation sets
    test: str
