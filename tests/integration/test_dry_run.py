"""What `--dry_run` says of a corpus, and that it leaves nothing behind."""

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import dry_run
from pipeline.cleaning.rules import CleaningConfig
from pipeline.config import PreprocessConfig
from tests.helpers.commands import refuse, succeed

PAIRS = [
    ("The dogs run.", "Die Hunde laufen."),
    ("The dogs run.", "Die Hunde laufen."),
    ("", "Nichts."),
    ("Bonn", "Bonn"),
    ("Vögel", unicodedata.normalize("NFD", "Vögel fliegen")),
    ("tea \x82", "Tee"),
    ("чай чай", "Tee"),
    ("one two three four five", "eins"),
]


@pytest.fixture
def corpus(tmp_path: Path) -> dict[str, Any]:
    files = []
    for side in (0, 1):
        files.append(tmp_path / f"text.{side}")
        files[-1].write_text("".join(f"{pair[side]}\n" for pair in PAIRS), "utf-8")
    return {"source_files": (str(files[0]),), "target_files": (str(files[1]),)}


def report(corpus: dict[str, Any], **changes: Any) -> dict[str, tuple[str, int]]:
    """Returns the state and the count of each rule."""
    text = dry_run.format_dry_run(PreprocessConfig(**corpus, **changes))
    rows = re.findall(r"^  (\S.*?) +(on|off) +(\d+) +\d+\.\d\d%", text, re.MULTILINE)
    return {name: (state, int(count)) for name, state, count in rows}


def test_every_rule_is_tried_also_those_that_are_off(corpus: dict[str, Any]) -> None:
    cleaning = CleaningConfig(max_length_ratio=4.0)
    assert report(corpus, cleaning=cleaning, max_length=5) == {
        "undecodable": ("off", 0),
        "empty_side": ("on", 1),
        "length_ratio": ("on", 1),
        "identical_sides": ("off", 1),
        "control_characters": ("off", 1),
        "wrong_script": ("off", 1),
        "duplicate": ("off", 1),
        "overlap_with_dev_or_test": ("on", 0),
        "too_long": ("on", 1),
        "changed by Unicode NFC": ("on", 1),
    }


def test_languages_are_identified_when_asked_for(
    corpus: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Suspicious:
        labels = ("en", "de", "fr")

        def rank(self, text: str) -> list[tuple[str, float]]:
            return [("fr", 0.98), ("en", 0.01), ("de", 0.01)]

    monkeypatch.setattr("pipeline.cleaning.rules.load_identifier", Suspicious)
    asked = CleaningConfig(identify_languages=True)
    assert report(corpus, cleaning=asked)["wrong_language"] == ("on", 1)  # the others are short
    assert "wrong_language" not in report(corpus)
    shown = dry_run.format_dry_run(PreprocessConfig(**corpus, cleaning=asked))
    assert re.search("wrong_language .* --identify_languages\n", shown)


def test_bytes_that_are_no_text_are_shown_not_refused(corpus: dict[str, Any]) -> None:
    file = Path(corpus["source_files"][0])
    file.write_bytes(file.read_bytes().replace(b"Bonn", b"B\xf6nn"))
    assert report(corpus)["undecodable"] == ("off", 1)
    assert "en  B\\udcf6nn\n" in dry_run.format_dry_run(PreprocessConfig(**corpus))


def test_what_is_kept_follows_the_flags(corpus: dict[str, Any]) -> None:
    plain = dry_run.format_dry_run(PreprocessConfig(**corpus))
    assert "kept with these flags: 7 of 8" in plain
    cleaning = CleaningConfig(drop_duplicates=True, min_script_share=0.5)
    strict = dry_run.format_dry_run(PreprocessConfig(**corpus, cleaning=cleaning))
    assert "kept with these flags: 5 of 8" in strict


def test_overlap_is_with_the_given_dev_text(corpus: dict[str, Any]) -> None:
    dev = {f"dev_{name}": files for name, files in corpus.items()}
    assert report(corpus, **dev)["overlap_with_dev_or_test"] == ("on", 8)


def test_lines_from_the_whole_of_each_block_are_tried(corpus: dict[str, Any]) -> None:
    config = PreprocessConfig(**corpus, block_lines=4)
    text = dry_run.format_dry_run(config, sampled_lines=3)
    assert text.startswith("Dry run on one line in 3: 4 of 8 pairs; nothing is written\n")
    # Lines 1 and 4 of each block of 4 lines.
    assert re.search(r"identical_sides +off +1 ", text) and re.search(r"length_ratio .* 0 ", text)
    assert re.search(r"wrong_script +off +0 ", text) and re.search(r"empty_side +on +0 ", text)


def test_a_rule_shows_at_most_two_different_pairs(corpus: dict[str, Any]) -> None:
    for side, name in enumerate(corpus):
        lines = [PAIRS[0][side]] * 3 + ["Aa", "Bb", "Cc"]
        Path(corpus[name][0]).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    text = dry_run.format_dry_run(PreprocessConfig(**corpus))
    examples = text.split("\n\n")[1:]
    assert examples == [
        "duplicate, for example\n  en  The dogs run.\n  de  Die Hunde laufen.",
        "identical_sides, for example\n  en  Aa\n  de  Aa\n  en  Bb\n  de  Bb",
    ]


def test_the_command_writes_nothing(corpus: dict[str, Any], tmp_path: Path) -> None:
    arguments = [f"--{name}={','.join(files)}" for name, files in corpus.items()]
    before = sorted(tmp_path.rglob("*"))
    shown = succeed(
        "pipeline.preprocess", "--dry_run", f"--output_dir={tmp_path / 'out'}", *arguments
    )
    assert shown.startswith("Dry run on every line: 8 of 8 pairs; nothing is written")
    assert "tea \\x82" in shown  # made visible
    assert sorted(tmp_path.rglob("*")) == before


def test_a_mistyped_flag_is_refused_in_a_dry_run_too() -> None:
    line = refuse("pipeline.preprocess", "--dry_run", "--max_lenth=9")
    assert "unknown flag --max_lenth; nearest: --max_length" in line
