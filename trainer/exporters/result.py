"""What was exported: export.json, and the lines that trainer.export prints."""

import dataclasses
import json
import shlex
from pathlib import Path
from typing import Any

from model.config import SearchConfig

EXPORT_FILE = "export.json"  # marks a directory that may be replaced
DEFAULT_MAX_BATCH = 64  # sentences; as max_execution_batch_size in serving/batching.config


@dataclasses.dataclass(frozen=True)
class ExportResult:
    """The content of export.json.

    format: "saved_model" or "ctranslate2".
    output_dir: where the model was written.
    weights: type in which they are stored.
    target: "cpu" or "gpu", the kind of processor of a SavedModel.
    max_batch: most sentences in a request to a SavedModel.
    versions: of the libraries that wrote it, by distribution.
    bytes: size of all files of the model.
    run_dir, ensemble: the run, and the other runs of an ensemble.
    step, averaged_steps: of the run's checkpoint.
    source_language, target_language: language codes, such as "en".
    search: how the model translates.
    """

    format: str
    output_dir: str
    weights: str
    target: str | None
    max_batch: int | None
    versions: dict[str, str]
    bytes: int
    run_dir: str
    ensemble: tuple[str, ...]
    step: int
    averaged_steps: tuple[int, ...]
    source_language: str
    target_language: str
    search: SearchConfig

    def to_json(self) -> dict[str, Any]:
        """Returns JSON values: the path by format; the fields of `search` are keys of their own."""
        values = dataclasses.asdict(self)
        path = {values.pop("format"): values.pop("output_dir")}
        search = values.pop("search")
        return {**path, **values, **search}


def read_max_batch(directory: str) -> int | None:
    """Returns `max_batch` of the export in a directory; None if it has no export.json."""
    return _read_json(directory).get("max_batch")


def read_languages(directory: str) -> tuple[str, str]:
    """Returns the language codes of an export, source and target; "" without export.json."""
    values = _read_json(directory)
    return values.get("source_language", ""), values.get("target_language", "")


def _read_json(directory: str) -> dict[str, Any]:
    path = Path(directory) / EXPORT_FILE
    return json.loads(path.read_bytes()) if path.exists() else {}


def format_result(result: ExportResult) -> str:
    """Returns what was written, its size, and how to use it."""
    lines = [
        f"{result.format} written: {result.output_dir}, {result.bytes / 1e6:.1f} MB, "
        f"{result.weights}"
    ]
    if result.format == "saved_model":
        command = f"python -m trainer.translate --saved_model={shlex.quote(result.output_dir)}"
        lines.append(f"Next: {command} < sentences.txt")
    return "\n".join(lines)
