"""A minimal report, for tests of how blocks are processed."""

import dataclasses
from typing import Any

from pipeline.common.errors import UserError
from pipeline.corpora.blocks import Block
from pipeline.corpora.spans import Span


@dataclasses.dataclass(frozen=True)
class NumberReport:
    """A number."""

    number: int

    @property
    def counters(self) -> dict[str, int]:
        return {"number": self.number}

    def to_json(self) -> dict[str, Any]:
        return {"number": self.number}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "NumberReport":
        return cls(**values)


NOWHERE = Span("", 0, 0, "", 1)
FOLDER = "mem://bucket/stage"
BLOCKS = [Block("train", index, 1, NOWHERE, NOWHERE) for index in range(3)]


def fail_at_one(block: Block) -> NumberReport:
    """A function to which a user's mistake happens in block 1."""
    if block.index == 1:
        raise UserError("line 7 is bad")
    return NumberReport(block.index)
