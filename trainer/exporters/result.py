"""What was exported: export.json, and the lines that trainer.export prints."""

import dataclasses
import shlex
from typing import Any

from model.config import SearchConfig


@dataclasses.dataclass(frozen=True)
class ExportResult:
    """The content of export.json.

    format: "saved_model" or "ctranslate2".
    output_dir: where the model was written.
    weights: type in which they are stored.
    target: "cpu" or "gpu", the kind of processor of a SavedModel.
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
