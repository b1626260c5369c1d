"""The clean text of a block as Parquet, for other tools than ours."""

import hashlib
import io
from collections.abc import Sequence

from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import Block
from pipeline.dataset.schema import SIDES, Pair, TextFile


def write_clean_text(folder: str, block: Block, pairs: Sequence[Pair]) -> TextFile:
    """Writes pairs as a Parquet file with the columns `source` and `target`.

    Equal pairs give equal bytes with the same version of pyarrow, which the file names.

    Args:
        folder: dataset directory, with a folder for the block's split.
        block: names the file.
        pairs: normalized text.
    """
    import pyarrow
    from pyarrow import parquet

    path = f"{block.split}/text-{block.place}.parquet"
    columns = {side: [pair[index] for pair in pairs] for index, side in enumerate(SIDES)}
    schema = pyarrow.schema([(side, pyarrow.string()) for side in SIDES])
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns, schema=schema), buffer, compression="zstd")
    data = buffer.getvalue()
    write_atomically(f"{folder}/{path}", data)
    return TextFile(path, len(pairs), len(data), hashlib.sha256(data).hexdigest())
