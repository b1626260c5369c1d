"""The smallest report of a stage, for tests of how stages run."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class NumberReport:
    """A number."""

    number: int

    def to_json(self) -> dict[str, Any]:
        return {"number": self.number}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "NumberReport":
        return cls(**values)
