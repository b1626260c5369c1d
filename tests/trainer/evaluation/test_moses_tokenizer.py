"""The expected tokens are those of Moses' own `tokenizer.perl` (version 1.1 of 2016)."""

import pytest

from trainer.evaluation.moses_tokenizer import moses_tokenize, split_compounds


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Der Hund schläft.", "Der Hund schläft ."),
        ("de", "Es kostet ca. 5,30 Euro (am 3. Mai).", "Es kostet ca. 5,30 Euro ( am 3. Mai ) ."),
        ("de", "z.B. Dr. Weiß, Prof. Groß", "z.B. Dr. Weiß , Prof. Groß"),
        ("de", "Wer? Ich. Du!", "Wer ? Ich . Du !"),
        ("de", "Er kam usw. und ging.", "Er kam usw. und ging ."),
        ("de", "A,B,5,C", "A , B , 5 , C"),
        ("de", "Rich-Text in 1990", "Rich-Text in 1990"),
        ("de", "Das war's\u2026 wohl", "Das war ' s ... wohl"),
        ("de", "Am Ende kam Dr.", "Am Ende kam Dr."),
        ("de", "Unter seinen Gästen waren u.a.", "Unter seinen Gästen waren u.a."),
        ("de", "Spieler mit der Nummer 10.", "Spieler mit der Nummer 10."),
        ("de", "um 9 Uhr.\u201c Ja", 'um 9 Uhr . " Ja'),
        ("de", "\u201eJa\u201c: 3 % & <mehr>.", '\u201e Ja " : 3 % & < mehr > .'),
        ("en", "It's the dogs' turn, isn't it?", "It 's the dogs ' turn , isn 't it ?"),
        ("en", "Rock'n'Roll of 2008's best", "Rock 'n'Roll of 2008 's best"),
        ("en", "J. Smith of the U.S. army, No. 5", "J. Smith of the U.S. army , No. 5"),
        ("en", "He said No. Then left", "He said No . Then left"),
        ("fr", "L'homme, aujourd'hui.", "L' homme , aujourd' hui ."),
        ("fr", "une \u0153uvre d'art.", "une \u0153uvre d' art."),
        ("cs", "10. 5. 'ano'", "10 . 5 . ' ano '"),
        ("eo", "Jen Dr. Ano.", "Jen Dr. Ano ."),
        ("de", "", ""),
        ("de", " a\u00a0b\tc ", "a b c"),
    ],
)
def test_tokens_equal_those_of_moses(language: str, text: str, expected: str) -> None:
    assert moses_tokenize(text, language) == expected


def test_compounds_are_split_at_hyphens_within_words() -> None:
    assert split_compounds("rich-text - a-") == "rich ##AT##-##AT## text - a-"
    assert split_compounds("O-Ton-Archiv") == "O ##AT##-##AT## Ton ##AT##-##AT## Archiv"
