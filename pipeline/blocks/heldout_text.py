"""What training must not see, in a file that each worker process reads once.

As an argument of a function it would travel in the graph, whose size engines limit.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Collection

from pipeline.common import storage
from pipeline.common.storage import write_atomically
from pipeline.dataset.schema import Pair

Heldout = frozenset[str | Pair]  # source sentences and whole pairs


@dataclasses.dataclass(frozen=True)
class HeldoutText:
    """A file of held-out text; `sha256` distinguishes it from an earlier one at its path."""

    path: str
    sha256: str

    def read(self) -> Heldout:
        """Returns the held-out sentences and pairs."""
        return _read(self.path, self.sha256)


def write_heldout(path: str, heldout: Collection[str | Pair]) -> HeldoutText:
    """Writes held-out sentences and pairs, in an order that does not depend on their collection."""
    rows = sorted(text if isinstance(text, str) else "\t".join(text) for text in heldout)
    data = "".join(f"{row}\n" for row in rows).encode()
    write_atomically(path, data)
    return HeldoutText(path, hashlib.sha256(data).hexdigest())


@functools.lru_cache(maxsize=1)
def _read(path: str, sha256: str) -> Heldout:
    rows = storage.read(path).decode().split("\n")[:-1]
    return frozenset(_parse(row) for row in rows)


def _parse(row: str) -> str | Pair:
    source, tab, target = row.partition("\t")
    return (source, target) if tab else source
