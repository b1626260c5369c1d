"""What export.json contains, and what an export prints."""

import dataclasses
import json

import pytest

from model.config import SearchConfig
from trainer.exporters.result import ExportResult, format_result

RESULT = ExportResult(
    format="saved_model",
    output_dir="out/1",
    weights="float16",
    target="gpu",
    max_batch=32,
    versions={"tensorflow": "2.21.0"},
    bytes=12_345_678,
    run_dir="runs/a",
    ensemble=("runs/b", "runs/c"),
    step=40,
    averaged_steps=(30, 40),
    source_language="en",
    target_language="de",
    search=SearchConfig(beam_size=3),
)


def test_json_has_the_keys_that_other_programs_read_in_their_order() -> None:
    values = json.loads(json.dumps(RESULT.to_json()))
    search = dataclasses.asdict(RESULT.search)
    assert list(values) == [
        *("saved_model", "weights", "target", "max_batch", "versions", "bytes"),
        *("run_dir", "ensemble", "step", "averaged_steps"),
        *("source_language", "target_language", *search),
    ]
    assert (values["saved_model"], values["weights"]) == ("out/1", "float16")
    assert values["target"] == "gpu"
    assert (values["max_batch"], values["versions"]) == (32, {"tensorflow": "2.21.0"})
    assert (values["bytes"], values["run_dir"]) == (12_345_678, "runs/a")
    assert (values["ensemble"], values["averaged_steps"]) == (["runs/b", "runs/c"], [30, 40])
    assert (values["step"], values["beam_size"]) == (40, 3)
    assert (values["source_language"], values["target_language"]) == ("en", "de")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {},
            "saved_model written: out/1, 12.3 MB, float16\n"
            "Next: python -m trainer.translate --saved_model=out/1 < sentences.txt",
        ),
        (
            {"output_dir": "my models/1"},
            "saved_model written: my models/1, 12.3 MB, float16\n"
            "Next: python -m trainer.translate --saved_model='my models/1' < sentences.txt",
        ),
        ({"format": "ctranslate2"}, "ctranslate2 written: out/1, 12.3 MB, float16"),
    ],
)
def test_the_headline_says_what_was_written_and_its_size(
    changes: dict[str, str], expected: str
) -> None:
    assert format_result(dataclasses.replace(RESULT, **changes)) == expected  # type: ignore[arg-type]
