"""A step: a function applied to every block, with a report on disk for each finished block.

The function writes its files, then the step its report; a block that has a report is finished and
is skipped by the next run.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, Self, TypeVar

from pipeline.common import storage
from pipeline.common.storage import write_atomically


class Report(Protocol):
    """What is known of a finished block, kept on disk as JSON, and shown on the engine's page."""

    def to_json(self) -> dict[str, Any]:
        """Returns JSON values."""

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Returns the report that `to_json` gave."""

    @property
    def counters(self) -> Mapping[str, int]:
        """Returns what is counted, by name."""


class Named(Protocol):
    """A block or a group of blocks."""

    @property
    def name(self) -> str:
        """Returns the stem of its files."""


AnyReport = TypeVar("AnyReport", bound=Report)


@dataclasses.dataclass(frozen=True)
class Step(Generic[AnyReport]):
    """A function over blocks, and the folder of its reports."""

    verb: str
    function: Callable[..., AnyReport]  # of a block and of what all blocks share
    folder: str
    report_type: type[AnyReport]

    def process(self, block: Named, *shared: Any) -> AnyReport:
        """Returns the report about a block, after processing it unless it is finished."""
        path = f"{self.folder}/{block.name}.json"
        if storage.is_file(path):
            return self.report_type.from_json(json.loads(storage.read(path)))
        report = self.function(block, *shared)
        write_atomically(path, json.dumps(report.to_json()).encode())
        return report
