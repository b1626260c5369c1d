import pytest

from pipeline.cleaning.scripts import main_script, script_share, scripts_of

LATIN = frozenset({"Latin"})


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Die Straße heißt „Ærø-Ⅳ ﬁ ª“, Ａ."),
        ("pt-BR", "Não há pão."),
        ("ru", "Съешь ещё этих булок."),
        ("uk", "Її ґанок є тут."),
        ("el", "Η γλώσσα ἀρχή."),
        ("ar", "أهلًا وسهلًا بكم."),
        ("fa", "پدر گفت چه ژرف."),
        ("he", "שלום עולם."),
        ("hi", "नमस्ते दुनिया।"),
        ("th", "สวัสดีชาวโลก"),
        ("ko", "안녕하세요 세계 大韓"),
        ("zh_CN", "你好，世界。"),
        ("ja", "こんにちは、カタカナー世界。"),
        ("sr", "Њујорк Ljubljana"),
        ("vi", "Tiếng Việt có dấu."),
    ],
)
def test_text_is_entirely_in_the_scripts_of_its_language(language: str, text: str) -> None:
    assert script_share(text, scripts_of(language)) == 1.0


@pytest.mark.parametrize(
    ("text", "share"),
    [("Café в 9", 0.8), ("чай", 0.0), ("ab аб", 0.5), ("12 – 34 % ☕👩‍👧", 1.0), ("", 1.0)],
)
def test_only_letters_count_for_the_share(text: str, share: float) -> None:
    assert script_share(text, LATIN) == share


def test_ascii_is_foreign_to_other_scripts() -> None:
    assert script_share("tea", scripts_of("ru")) == 0.0


def test_an_unlisted_language_is_latin() -> None:
    assert scripts_of("tlh") == LATIN


@pytest.mark.parametrize(
    ("text", "script"),
    [("สวัสดีชาวโลก, IBM", "Thai"), ("Viele Grüße", "Latin"), ("чай, tea", "Cyrillic")],
)
def test_the_main_script_has_most_letters(text: str, script: str) -> None:
    assert main_script(text) == script
