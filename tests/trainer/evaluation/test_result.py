"""The result of an evaluation survives its file, and its text starts with what matters."""

import dataclasses
import json
from pathlib import Path

import pytest

from model.config import SearchConfig
from pipeline.common.errors import UserError
from trainer.evaluation.result import (
    CorpusScores,
    EvaluatedWeights,
    EvaluationResult,
    LengthBin,
    MetricScore,
    Significance,
    TranslatedSentence,
    format_translations,
    read_result,
    read_translations,
)
from trainer.evaluation.summary import format_result

SCORES = CorpusScores(
    {
        "bleu": MetricScore(27.314, 26.9, 27.72, "tok:13a"),
        "chrf": MetricScore(58.1, None, None, "chrF2"),
    },
    (LengthBin(0, 10, 1200, 30.125), LengthBin(51, None, 3, 9.5)),
    {"bleu": Significance(27.314, 27.5, 0.25)},
    {"typo": 20.5},
)
WEIGHTS = EvaluatedWeights(12, (8, 12), ("runs/b",), 75.5, "abc")
RESULT = EvaluationResult(
    "test",
    1203,
    SCORES,
    WEIGHTS,
    SearchConfig(beam_size=3),
    nll=1.5,
    perplexity=4.481689,
    token_accuracy=0.75,
)


def test_a_result_is_the_same_after_json() -> None:
    for result in (
        RESULT,
        dataclasses.replace(
            RESULT,
            nll=None,
            perplexity=None,
            token_accuracy=None,
            scores=dataclasses.replace(SCORES, beside_baseline={}, robustness={}),
        ),
    ):
        text = json.dumps(result.to_json())
        assert EvaluationResult.from_json(json.loads(text)) == result


def test_the_main_metric_of_trees_is_f1() -> None:
    metrics = {
        "f1": MetricScore(81.25, 80.0, 82.5, "rules"),
        "recall": MetricScore(80.5, None, None, "rules"),
    }
    result = dataclasses.replace(RESULT, scores=CorpusScores(metrics, ()))
    values = json.loads(json.dumps(result.to_json()))
    assert EvaluationResult.from_json(values) == result
    assert list(values)[:3] == ["split", "f1", "signature"]
    assert values["f1"] == 81.25
    text = format_result(result)
    assert text.startswith("test: F1 81.25 (95 % interval 80.00 to 82.50), 1,203 sentences")
    assert "BLEU" not in text


def test_rows_of_translations_do_not_speak_of_repair() -> None:
    rows = [TranslatedSentence("a", "b", "c", -1.0), TranslatedSentence("a", "b", "c", -1.0, False)]
    keys = [json.loads(line).keys() for line in format_translations(rows).splitlines()]
    assert [len(row) for row in keys] == [4, 5]


def test_json_has_the_keys_that_other_programs_read() -> None:
    values = json.loads(json.dumps(RESULT.to_json()))
    assert list(values)[:7] == [
        *("split", "sacrebleu", "signature", "sentences"),
        *("metrics", "bleu_by_length", "beside_baseline"),
    ]
    assert (values["sacrebleu"], values["signature"]) == (27.314, "tok:13a")
    assert values["metrics"]["chrf"] == {
        **{"score": 58.1, "low": None, "high": None},
        "signature": "chrF2",
    }
    assert values["bleu_by_length"][1] == {
        **{"shortest": 51, "longest": None, "sentences": 3, "bleu": 9.5}
    }
    assert values["beside_baseline"]["bleu"] == {
        **{"score": 27.314, "baseline": 27.5, "p_value": 0.25}
    }
    assert (values["nll"], values["perplexity"]) == (1.5, 4.481689)
    assert values["token_accuracy"] == 0.75
    assert (values["step"], values["averaged_steps"]) == (12, [8, 12])
    assert (values["ensemble"], values["train_seconds"]) == (["runs/b"], 75.5)
    assert (values["dataset"], values["beam_size"]) == ("abc", 3)


def test_a_setting_that_an_older_result_lacks_is_the_default() -> None:
    values = RESULT.to_json()
    del values["beam_size"]
    assert EvaluationResult.from_json(values).search == SearchConfig()


@pytest.mark.parametrize("text", ['{"split": "test"}', "no JSON", "[]"])
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "evaluation-test.json"
    path.write_text(text)
    with pytest.raises(UserError, match=f"{path} is not a result .*: evaluate again"):
        read_result(path)


def test_translations_are_lines_of_json_in_the_order_of_the_fields(tmp_path: Path) -> None:
    rows = [
        TranslatedSentence("Yes.", "Ja.", "Jä\u2028", -0.5),
        TranslatedSentence("", "", "", 0.0),
    ]
    text = format_translations(rows)
    assert text.split("\n") == [
        '{"source": "Yes.", "reference": "Ja.", "translation": "Jä\u2028", "score": -0.5}',
        '{"source": "", "reference": "", "translation": "", "score": 0.0}',
        "",
    ]
    path = tmp_path / "evaluation-test.jsonl"
    path.write_text(text, "utf-8")
    assert read_translations(path) == rows


@pytest.mark.parametrize("data", [b"\xff\xfe", b"[]", b'{"source": "Yes."}', b'{"source": "Ye'])
def test_damaged_translations_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "evaluation-test.jsonl"
    path.write_bytes(data)
    with pytest.raises(UserError, match=f"{path} cannot be read .*: evaluate again"):
        read_translations(path)


def test_the_text_begins_with_bleu_and_ends_with_how_it_was_made() -> None:
    blocks = format_result(RESULT).split("\n\n")
    assert blocks[0] == "test: BLEU 27.31 (95 % interval 26.90 to 27.72), 1,203 sentences"
    assert [line.split() for line in blocks[1].splitlines()[1:]] == [
        ["chrf", "58.10"],
        ["perplexity", "4.48"],
        ["nats", "per", "target", "token", "1.5000"],
        ["token", "accuracy,", "%", "75.00"],
    ]
    assert [line.split() for line in blocks[2].splitlines()[1:]] == [
        ["0", "to", "10", "30.12", "1,200"],
        ["51", "to", "…", "9.50", "3"],
    ]
    assert blocks[3].splitlines()[1].split() == ["bleu", "27.31", "27.50", "-0.19", "0.2500"]
    assert blocks[4].splitlines()[1].split() == ["typo", "20.50"]
    settings = blocks[5].splitlines()
    assert settings[0].split(maxsplit=1)[1] == (
        "step 12, average of steps 8, 12, ensemble with runs/b"
    )
    assert "beam_size=3" in settings[1]
    assert settings[2].split() == ["bleu", "tok:13a"]


def test_the_text_says_nothing_of_what_was_not_measured() -> None:
    scores = CorpusScores({"bleu": MetricScore(5.0, None, None, "tok:13a")}, ())
    weights = dataclasses.replace(WEIGHTS, averaged_steps=(), ensemble=())
    text = format_result(EvaluationResult("dev", 2, scores, weights, SearchConfig()))
    assert text.splitlines()[0] == "dev: BLEU 5.00, 2 sentences"
    assert [line.split()[0] for line in text.splitlines()[1:] if line] == [
        *("weights", "search", "bleu")
    ]
    assert "average" not in text and "ensemble" not in text
