"""What datasets share so that a run can train on several: subwords, shapes of rows, and tags.

A tag is a word with a piece of its own, such as <2de>, that stands before each source of a dataset
and says what kind of translation is wanted: its language, its domain, or that the pair is a
back-translation. Text that contains a tag is encoded with its piece, wherever a word begins with
it; so the text to translate may bring its own tags.
"""

import dataclasses
from pathlib import Path
from typing import Any

from pipeline.common.errors import UserError
from pipeline.common.settings import as_flags, require, setting
from pipeline.dataset.schema import SIDES, load_dataset
from pipeline.subwords.encoding import load_subwords
from pipeline.subwords.wordpiece import MARK


@dataclasses.dataclass(frozen=True)
class SharingConfig:
    """What this dataset shares with others.

    Raises:
        ValueError: if a tag is not a single word.
    """

    like: str | None = setting(
        None,
        "Another dataset directory whose subwords and shapes of rows this dataset gets, so that "
        "trainer.task can mix them; longer pairs than its rows are dropped.",
    )
    tags: tuple[str, ...] = setting(
        (),
        "Words that get a piece of their own when subwords are learned, such as <2de>,<2fr>,<bt>; "
        "for --source_tag, of this dataset and of others.",
    )
    source_tag: str | None = setting(
        None, "Tag before each source of this dataset; raw dev and test text stays without it."
    )

    def __post_init__(self) -> None:
        for name in ("tags", "source_tag"):
            value = getattr(self, name)
            words = value if isinstance(value, tuple) else (value,)
            require(
                all(word is None or _is_word(word) for word in words)
                and len({*words}) == len(words),
                "different words without spaces, such as <2de>",
                as_flags(self, name),
            )


def taken_settings(directory: str) -> dict[str, Any]:
    """Returns the settings of preprocessing that a dataset like the one in `directory` has.

    Raises:
        UserError: as `load_dataset`.
    """
    dataset = load_dataset(directory)
    files = dict.fromkeys(dataset.vocabularies[side].path for side in SIDES)
    return {
        "subwords": dataset.vocabularies["source"].kind,
        "shared_vocabulary": dataset.shares_vocabulary,
        "subwords_model": tuple(map(dataset.path, files)),
        "vocabulary_size": None,
        "target_vocabulary_size": None,
        "max_length": dataset.config.get("max_length", max(dataset.bucket_shapes[-1])),
    }


def check_tag(tag: str, path: str | Path) -> None:
    """Checks that a tag has a piece of its own in a file of subwords.

    Raises:
        UserError: if it has none.
    """
    subwords = load_subwords(path)
    if f"{MARK}{tag}" not in subwords.pieces(range(subwords.vocabulary_size)):
        raise UserError(
            f"received --source_tag={tag}: {path} has no piece for it; expected a tag that these "
            "subwords were learned with (pipeline.preprocess --tags), or none"
        )


def _is_word(text: str) -> bool:
    return bool(text) and not any(character.isspace() or character == MARK for character in text)
