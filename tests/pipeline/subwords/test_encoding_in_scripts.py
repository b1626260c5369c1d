"""Subwords give back the text of many scripts, of emoji and of broken bytes, and serve the same."""

import collections
from pathlib import Path

import pytest
import tensorflow_text

from pipeline.cleaning.normalization import normalize
from pipeline.dataset.schema import UNKNOWN_ID
from pipeline.subwords import encoding, learning

SENTENCES = {
    "Latin": "Größe, çedille, Łódź, đường phố và ﬁnale — “naïveté”.",
    "Cyrillic": "Сегодня утром её собака съела мой завтрак; що за їжак?",
    "Greek": "Το πρωί ο σκύλος έφαγε τον ἄρτον.",
    "Arabic": "أكلَ الكلبُ خُبزي هذا الصباح، أليس كذلك؟",
    "Hebrew": "הַכֶּלֶב אכל הבוקר את הלחם שלי.",
    "Devanagari": "आज सुबह कुत्ते ने मेरी रोटी खा ली।",
    "Bengali": "আজ সকালে কুকুরটি আমার রুটি খেয়ে ফেলেছে।",
    "Tamil": "இன்று காலை நாய் என் ரொட்டியைத் தின்றது.",
    "Thai": "เช้านี้สุนัขกินขนมปังของฉัน",
    "Georgian": "დღეს დილით ძაღლმა ჩემი პური შეჭამა.",
    "Armenian": "Այս առավոտ շունը կերավ իմ հացը։",
    "Ethiopic": "ዛሬ ጠዋት ውሻው ዳቦዬን በላ።",
    "Hangul": "오늘 아침에 개가 내 빵을 먹었다.",
    "Japanese": "今朝、犬が私のパンを食べてしまいました。",
    "Chinese": "今天早上，狗把我的面包吃了。𠮷野家",
}
EMOJI = "👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 ☕️ 1️⃣ 🫠"
BROKEN = [b"caf\xe9 au lait", b"\xff\xfe", b"half \xe2\x82 a euro", b"\xed\xa0\x80 surrogate"]


@pytest.fixture(scope="module")
def bpe_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Learned from a few of the scripts; the others are unseen."""
    path = str(tmp_path_factory.mktemp("bpe") / encoding.FILE_NAMES["bpe"])
    lines = [SENTENCES[name] for name in ("Latin", "Cyrillic", "Devanagari", "Japanese")]
    learning.learn_bpe(collections.Counter(" ".join(lines).split(" ")), 430, path)
    return path


@pytest.mark.parametrize("script", SENTENCES)
def test_bpe_gives_back_every_script(bpe_path: str, script: str) -> None:
    line = normalize(SENTENCES[script])
    vocabulary = encoding.load_subwords(bpe_path)
    (ids,) = vocabulary.encode([line])
    assert vocabulary.decode([ids]) == [line]
    assert min(ids) > UNKNOWN_ID


def test_bpe_gives_back_emoji_and_their_joiners(bpe_path: str) -> None:
    vocabulary = encoding.load_subwords(bpe_path)
    assert vocabulary.decode(vocabulary.encode([EMOJI])) == [EMOJI]


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_bytes_are_replaced_once_and_then_come_back(bpe_path: str, broken: bytes) -> None:
    line = normalize(broken.decode("utf-8", "replace"))  # as serving does
    assert "\ufffd" in line
    vocabulary = encoding.load_subwords(bpe_path)
    assert vocabulary.decode(vocabulary.encode([line])) == [line]


def test_ids_in_every_script_are_those_that_serve(bpe_path: str) -> None:
    op = tensorflow_text.SentencepieceTokenizer(Path(bpe_path).read_bytes())
    replaced = [broken.decode("utf-8", "replace") for broken in BROKEN]
    lines = [normalize(line) for line in [*SENTENCES.values(), EMOJI, *replaced]]
    assert encoding.load_subwords(bpe_path).encode(lines) == op.tokenize(lines).to_list()


def test_wordpiece_gives_back_every_script_that_it_has_seen(tmp_path: Path) -> None:
    path = str(tmp_path / encoding.FILE_NAMES["wordpiece"])
    lines = [normalize(line) for line in [*SENTENCES.values(), EMOJI]]
    learning.learn_wordpiece(collections.Counter(" ".join(lines).split(" ")), 400, path)
    vocabulary = encoding.load_subwords(path)
    assert vocabulary.decode(vocabulary.encode(lines)) == lines
