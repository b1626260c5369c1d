from pathlib import Path

import pytest

from pipeline.build.script_check import warn_of_other_scripts
from pipeline.corpora.blocks import Block
from pipeline.corpora.languages import Languages
from pipeline.corpora.spans import Span

ENGLISH = "A girl in the garden reads the newspaper.\n"
THAI = "เด็กผู้หญิงอ่านหนังสือพิมพ์ในสวน iPhone\n"


def blocks_of(folder: Path, *targets: str) -> list[Block]:
    blocks = []
    for index, target in enumerate(targets):
        spans = []
        for side, line in (("source", ENGLISH), ("target", target)):
            path = folder / f"{index}-{side}"
            path.write_text(line * 9, "utf-8")
            spans.append(Span(str(path), 0, path.stat().st_size, path.name, 1))
        blocks.append(Block("train", index, 9, *spans))
    return blocks


def test_text_in_another_script_causes_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warn_of_other_scripts(Languages(("en", "de")), blocks_of(tmp_path, THAI, THAI))
    (record,) = caplog.records
    assert record.getMessage() == (
        "the target text is mostly in Thai script, but German is written in Latin: check "
        "--target_language=de and the order of the files"
    )


@pytest.mark.parametrize(
    ("codes", "target"),
    [
        (("en", "th"), THAI),
        (("en", "ja"), "女の子が庭で新聞を読む。\n"),
        (("en", "tlh"), THAI),  # not known which script
        (("en", "de"), "☕ 12 – 34 %\n"),
        (("en", "zh"), "在 Windows Update 里选择\n"),
    ],
)
def test_text_in_its_own_script_causes_none(
    codes: tuple[str, str], target: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warn_of_other_scripts(Languages(codes), blocks_of(tmp_path, target))
    assert not caplog.records


def test_swapped_files_are_noticed_on_both_sides(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warn_of_other_scripts(Languages(("th", "en")), blocks_of(tmp_path, THAI))
    assert len(caplog.records) == 2


def test_blocks_from_the_whole_corpus_are_looked_at(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mixed = blocks_of(tmp_path, *[ENGLISH] * 9, *[THAI] * 90)
    warn_of_other_scripts(Languages(("en", "de")), mixed)
    assert len(caplog.records) == 1
