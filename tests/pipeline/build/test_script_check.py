import pytest

from pipeline.build.script_check import warn_of_other_scripts
from pipeline.corpora.inputs import AlignedTexts, Text
from pipeline.corpora.languages import Languages

ENGLISH = "A girl in the garden reads the newspaper."
THAI = "เด็กผู้หญิงอ่านหนังสือพิมพ์ในสวน iPhone"


def inputs_of(*targets: str) -> list[AlignedTexts]:
    return [
        AlignedTexts(Text("source", (ENGLISH,) * 9), Text("target", (target,) * 9))
        for target in targets
    ]


def test_text_in_another_script_causes_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_other_scripts(Languages(("en", "de")), inputs_of(THAI, THAI))
    (record,) = caplog.records
    assert record.getMessage() == (
        "the target text is mostly in Thai script, but German is written in Latin: check "
        "--target_language=de and the order of the files"
    )


@pytest.mark.parametrize(
    ("codes", "target"),
    [
        (("en", "th"), THAI),
        (("en", "ja"), "女の子が庭で新聞を読む。"),
        (("en", "tlh"), THAI),  # not known which script
        (("en", "de"), "☕ 12 – 34 %"),
        (("en", "zh"), "在 Windows Update 里选择"),
    ],
)
def test_text_in_its_own_script_causes_none(
    codes: tuple[str, str], target: str, caplog: pytest.LogCaptureFixture
) -> None:
    warn_of_other_scripts(Languages(codes), inputs_of(target))
    assert not caplog.records


def test_swapped_files_are_noticed_on_both_sides(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_other_scripts(Languages(("th", "en")), inputs_of(THAI))
    assert len(caplog.records) == 2


def test_inputs_from_the_whole_corpus_are_looked_at(caplog: pytest.LogCaptureFixture) -> None:
    mixed = inputs_of(*[ENGLISH] * 9, *[THAI] * 90)
    warn_of_other_scripts(Languages(("en", "de")), mixed)
    assert len(caplog.records) == 1
