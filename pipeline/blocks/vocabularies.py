"""Vocabularies of a dataset: learned from its training text, or copied from given files."""

import dataclasses
import hashlib
from collections.abc import Callable

from pipeline.blocks.count_block import WordCounts
from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.common.storage import write_atomically
from pipeline.config import PreprocessConfig
from pipeline.dataset.schema import SIDES, Vocabulary
from pipeline.subwords import symbols
from pipeline.subwords.encoding import SYMBOLS, file_names, load_subwords
from pipeline.subwords.learning import LEARNERS, VocabularyTooLarge
from pipeline.subwords.vocabulary_size import choose_vocabulary_size


@dataclasses.dataclass(frozen=True)
class VocabularyPlan:
    """A vocabulary to learn or to copy.

    size_flag: flag of its size, and `size`, its value.
    tags: words with a piece of their own.
    tree_tags: whether symbols of trees include part-of-speech tags.
    given: existing file to copy.
    """

    kind: str
    sides: tuple[str, ...]
    file_name: str
    size_flag: str
    size: int | None
    tags: tuple[str, ...] = ()
    tree_tags: bool = True
    given: str | None = None

    def write(self, folder: str, read_counts: Callable[[], WordCounts] | None, pairs: int) -> None:
        """Writes the vocabulary, unless an earlier run has learned it.

        Args:
            folder: for the file.
            read_counts: reads the words of these sides; None if the file is given.
            pairs: training pairs.

        Raises:
            UserError: the words cannot fill the vocabulary, or require a larger one.
        """
        path = f"{folder}/{self.file_name}"
        if self.given:
            write_atomically(path, storage.read(self.given))
        elif read_counts and not storage.is_file(path):
            self._learn(read_counts(), pairs, path)

    def identify(self, folder: str) -> Vocabulary:
        """Returns the identity of the written vocabulary."""
        path = f"{folder}/{self.file_name}"
        digest = hashlib.sha256(storage.read(path)).hexdigest()
        return Vocabulary(self.kind, self.file_name, digest, load_subwords(path).vocabulary_size)

    def _learn(self, counts: WordCounts, pairs: int, path: str) -> None:
        if self.kind == SYMBOLS:
            symbols.write(counts.words, path, tags=self.tree_tags)
            return
        learn = LEARNERS[self.kind]
        suitable = choose_vocabulary_size(self.kind, pairs, counts.characters)
        try:
            learn(counts.words, self.size or suitable, path, tags=self.tags)
        except VocabularyTooLarge as error:
            if self.size is None:
                learn(counts.words, error.largest, path, tags=self.tags)
                return
            raise UserError(
                f"{error}, with few words in several pieces; leave the flag out for "
                f"{min(suitable, error.largest)}, which suits {pairs:,} pairs"
            ) from error


def plan_vocabularies(config: PreprocessConfig) -> list[VocabularyPlan]:
    """Returns the plan of the vocabulary that both sides share, or those of source and target."""
    plans = _plan(config)
    given = config.subwords_model or (None,) * len(plans)
    return [
        dataclasses.replace(plan, given=path, tree_tags=config.treebank.tree_tags)
        for plan, path in zip(plans, given, strict=True)
    ]


def _plan(config: PreprocessConfig) -> list[VocabularyPlan]:
    kind, is_shared = config.subwords, config.shared_vocabulary
    source, target = file_names(kind, shared=is_shared).values()
    both = VocabularyPlan(kind, SIDES, source, "vocabulary_size", config.vocabulary_size)
    tagged = dataclasses.replace(both, tags=config.sharing.tags)
    if is_shared:
        return [tagged]
    if config.has_trees:
        file_name = file_names(SYMBOLS, shared=False)["target"]
        target_plan = VocabularyPlan(SYMBOLS, SIDES[1:], file_name, "trees", None)
    elif config.target_vocabulary_size is None:
        target_plan = dataclasses.replace(both, sides=SIDES[1:], file_name=target)
    else:
        size = config.target_vocabulary_size
        target_plan = VocabularyPlan(kind, SIDES[1:], target, "target_vocabulary_size", size)
    return [dataclasses.replace(tagged, sides=SIDES[:1]), target_plan]
