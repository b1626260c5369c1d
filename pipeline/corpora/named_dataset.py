"""Descriptions of downloadable data sets: parts, each with one aligned file per language."""

import dataclasses
from collections.abc import Mapping

from pipeline.corpora.download import Download


@dataclasses.dataclass(frozen=True)
class WebFile:
    """One language's text: a download, or a member of a downloaded archive.

    In `member`, `{role}` stands for `src` or `ref`: WMT publishes the same text as the source of
    one direction and as the reference of the other.
    """

    download: Download
    member: str | None = None

    def in_role(self, role: str) -> "WebFile":
        """Returns the file of one role, `src` or `ref`."""
        if self.member is None:
            return self
        return dataclasses.replace(self, member=self.member.replace("{role}", role))

    @property
    def origin(self) -> str:
        """Returns the first URL, and the member if there is one."""
        url = self.download.urls[0]
        return f"{url}::{self.member}" if self.member else url


@dataclasses.dataclass(frozen=True)
class Part:
    """Text of one origin in two or more languages, aligned by line.

    mirrors: the same text as published by somebody else, in the order in which it is tried.
    hub: the same text on the Hugging Face hub, as `--dataset` names it.
    """

    name: str
    files: Mapping[str, WebFile]  # by language code
    pairs: int | None = None  # as published
    mirrors: tuple[Mapping[str, WebFile], ...] = ()
    hub: str | None = None

    def covers(self, *languages: str) -> bool:
        """Returns whether the part has all of these languages."""
        return set(languages) <= self.files.keys()


@dataclasses.dataclass(frozen=True)
class NamedDataset:
    """A data set that users choose by name, in either direction."""

    description: str
    languages: tuple[str, str]
    train: tuple[Part, ...]
    dev: str  # names of evaluation sets
    test: str
    text_bytes: int = 0  # both sides of the training text, uncompressed; 0 if not published
