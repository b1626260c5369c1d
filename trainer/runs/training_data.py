"""What a run records of the datasets it is trained on."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from pipeline.dataset.schema import Dataset, Vocabulary


@dataclasses.dataclass(frozen=True)
class MixedIn:
    """What a run records of a dataset beside the first; see `TrainingData`."""

    fingerprint: str
    source_language: str
    target_language: str
    source_tag: str = dataclasses.field(default="", compare=False)


@dataclasses.dataclass(frozen=True)
class TrainingData:
    """What a run records of the dataset it is trained on, or of the first of a mixture.

    fingerprint: of all the dataset's files.
    source_language, target_language: language codes, such as "en".
    vocabularies: by side; equal if the sides share one.
    filled: which positions of a batch tokens_per_batch counts. Runs that do not record it counted
        those of the longer side.
    mixed_in: the other datasets of a mixture, in order; they have the same vocabularies.
    source_tag: before each source; "" for none, and in runs that do not record it.
    """

    fingerprint: str
    source_language: str
    target_language: str
    vocabularies: dict[str, Vocabulary]
    filled: str = "longer side"
    mixed_in: tuple[MixedIn, ...] = ()
    source_tag: str = dataclasses.field(default="", compare=False)

    @property
    def fingerprints(self) -> list[str]:
        """The fingerprints of all datasets."""
        return [self.fingerprint, *(data.fingerprint for data in self.mixed_in)]

    @property
    def languages(self) -> list[tuple[str, str]]:
        """Source and target language of each dataset."""
        others = [(data.source_language, data.target_language) for data in self.mixed_in]
        return [(self.source_language, self.target_language), *others]

    @property
    def required_tags(self) -> list[str]:
        """The tags, one of which stands before every source of the training data; else none."""
        tags = [self.source_tag, *(data.source_tag for data in self.mixed_in)]
        return list(dict.fromkeys(tags)) if all(tags) else []


def describe_data(datasets: Sequence[Dataset]) -> TrainingData:
    """Returns what a new run records of its datasets."""
    first, *others = datasets
    return TrainingData(
        fingerprint=first.fingerprint,
        source_language=first.source_language,
        target_language=first.target_language,
        vocabularies=first.vocabularies,
        filled="mean of both sides",
        mixed_in=tuple(
            MixedIn(
                other.fingerprint, other.source_language, other.target_language, other.source_tag
            )
            for other in others
        ),
        source_tag=first.source_tag,
    )


def parse_data(values: dict[str, Any]) -> TrainingData:
    """Returns the data with the values of `dataclasses.asdict`, also after JSON."""
    vocabularies = values["vocabularies"].items()
    parsed = {side: Vocabulary(**vocabulary) for side, vocabulary in vocabularies}
    mixed_in = tuple(MixedIn(**data) for data in values.get("mixed_in", ()))
    return TrainingData(**{**values, "vocabularies": parsed, "mixed_in": mixed_in})
