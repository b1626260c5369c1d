"""Stop: the end of a run before all work is done, as data.

An engine retries what raises an exception, and reports it as its own failure. A user's mistake in
a block is therefore returned in place of a result; whatever depends on that result does no work
and returns the first stop, in corpus order, in turn.
"""

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from pipeline.common import storage
from pipeline.common.errors import ResumableError, UserError
from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import Block
from pipeline.dataset.schema import SPLITS


@dataclasses.dataclass(frozen=True, order=True)
class Stop:
    """Why the work ends early.

    place: what orders stops: split and index of a block; empty for the whole.
    message: that of a `UserError`; "" if an earlier run has done all work.
    is_resumable: whether the error was a `ResumableError`.
    """

    place: tuple[int, ...] = ()
    message: str = ""
    is_resumable: bool = False

    @classmethod
    def from_error(cls, error: UserError, place: tuple[int, ...] = ()) -> "Stop":
        """Returns the stop that an error means."""
        return cls(place, str(error), isinstance(error, ResumableError))

    def write(self, path: str) -> None:
        """Writes the stop for the driver."""
        write_atomically(path, json.dumps(dataclasses.asdict(self)).encode())

    @classmethod
    def read(cls, path: str) -> "Stop":
        """Returns the stop that `write` wrote."""
        values = json.loads(storage.read(path))
        return cls(**{**values, "place": tuple(values["place"])})

    def to_error(self) -> UserError:
        """Returns the error that `from_error` received."""
        return (ResumableError if self.is_resumable else UserError)(self.message)


def place_of(block: Block) -> tuple[int, int]:
    """Returns the place of a block among all blocks."""
    return SPLITS.index(block.split), block.index


def first_stop(values: Iterable[Any]) -> Stop | None:
    """Returns the first stop among values and, for lists, among their elements."""
    stops = []
    for value in values:
        elements = value if isinstance(value, list) else [value]
        stops += [element for element in elements if isinstance(element, Stop)]
    return min(stops, default=None)
