"""Moses' tokenizer of text and the splitting of compounds, as the paper's BLEU needs them.

Written after the behaviour of Moses' `replace-unicode-punctuation.perl` and `tokenizer.perl`, and
Tensor2Tensor's `get_ende_bleu.sh`, in which the BLEU of §6.1 was measured. Of the words that Moses
knows to keep their full stop, `_ABBREVIATIONS` has the frequent ones.
"""

import itertools
import re

# The one of each that Moses writes for several.
_PUNCTUATION = str.maketrans(
    {
        "，": ",", "。": ".", "、": ",", "”": '"', "“": '"', "∶": ":", "：": ":", "？": "?",
        "《": '"', "》": '"', "）": ")", "！": "!", "（": "(", "；": ";", "」": '"', "「": '"',
        "０": "0", "１": "1", "２": "2", "３": "3", "４": "4", "５": "5", "６": "6", "７": "7",
        "８": "8", "９": "9", "．": ".", "～": "~", "’": "'", "…": "...", "━": "-", "〈": "<",
        "〉": ">", "【": "[", "】": "]", "％": "%",
    }
)  # fmt: skip

_ABBREVIATIONS = {
    "de": (
        "Abb Abs Adr Anm Art Aufl Bd Bros Bsp Ca Co Corp Dipl Dr Fr Hr Hrn Jan Jr Kap Ltd Mag Maj "
        "I II III IV V VI VII VIII IX X XI XII Mio Mrd Mr Mrs Ms Nr Prof Rd Sr St Str Tel Verf bzw "
        "ca co d.h etc evtl ggf inkl insb min mind sog u.a usw v vgl vs z.B z.b zzgl"
    ),
    "en": (
        "Adj Adm Adv Asst Ave Bart Bldg Brig Bros Capt Cmdr Col Comdr Con Corp Cpl Dr Ens Gen Gov "
        "Hon Hosp Insp Lt Maj Messrs Mlle Mme Mr Mrs Ms Msgr Op Ord Pfc Ph Prof Pvt Rep Reps Res "
        "Rev Rt Sen Sens Sfc Sgt Sr St Supt Surg v vs i.e rev e.g Jan Feb Mar Apr Jun Jul Aug Sep "
        "Sept Oct Nov Dec"
    ),
    "fr": "A.D C.-à-d Dr M MM Mgr Mlle Mme Mr Prof St Ste adj art av boul c.-à-d cf etc ex p pp vs",
}
_BEFORE_NUMBERS = {"en": "No Art Nos pp", "de": "", "fr": "no"}
_ORDINALS = {"de"}  # numbers with a full stop stay whole: "der 3. Mann"

_ELLIPSIS = "\ue000"  # stands for each full stop of several in a row


def tokenize(text: str, language: str) -> str:
    """Splits text into words and punctuation, one space between them.

    `tokenize("Es kostet ca. 5,30 Euro (am 3. Mai).", "de")` is
    `"Es kostet ca. 5,30 Euro ( am 3. Mai ) ."`.

    Args:
        text: one sentence.
        language: a code; en and fr part words at apostrophes in their own way, and abbreviations
            are known of en, fr and de.
    """
    text = " ".join(text.translate(_PUNCTUATION).split())
    text = "".join(c if _stays(c) else f" {c} " for c in text if c >= " ")
    text = re.sub(r"\.{2,}", lambda dots: f" {_ELLIPSIS * len(dots[0])} ", text)
    text = re.sub(r"(?<!\d),|,(?!\d)", " , ", text)  # not in 5,300
    text = _split_apostrophes(text, language)
    words = text.split()
    parted = [
        _part_full_stop(word, after, language)
        for word, after in itertools.zip_longest(words, words[1:], fillvalue="")
    ]
    return " ".join(parted).replace(_ELLIPSIS, ".")


def split_compounds(tokens: str) -> str:
    """Parts words at hyphens: `"rich-text format"` is `"rich ##AT##-##AT## text format"`."""
    return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", tokens)


def _stays(character: str) -> bool:
    """Tells whether a character may be part of a word, before the finer rules."""
    return character in " .'`,-" or character.isalpha() or character.isdecimal()


def _split_apostrophes(text: str, language: str) -> str:
    """Parts clitics as English and French do, and elsewhere every apostrophe."""
    if language not in ("en", "fr"):
        return text.replace("'", " ' ")
    letter = r"[^\W\d_]"
    clitic = r" '\1" if language == "en" else r"' \1"
    text = re.sub(rf"(?<!{letter})'(?!{letter})", " ' ", text)
    text = re.sub(rf"(?<!{letter})'(?={letter})", " ' ", text)
    text = re.sub(rf"(?<={letter})'(?!{letter})", " ' ", text)
    return re.sub(rf"(?<={letter})'({letter})", clitic, text)


def _part_full_stop(word: str, after: str, language: str) -> str:
    """Parts the full stop at the end of a word, unless it belongs to the word."""
    stem = word[:-1]
    if not word.endswith(".") or not stem:
        return word
    if after and _keeps_full_stop(stem, after, language):
        return word
    return f"{stem} ."


def _keeps_full_stop(stem: str, after: str, language: str) -> bool:
    """Tells whether `stem` followed by a full stop is an abbreviation, before the word `after`."""
    if "." in stem and any(map(str.isalpha, stem)):
        return True
    if stem in _ABBREVIATIONS.get(language, "").split() or after[0].islower():
        return True
    if re.fullmatch("[A-Z]" if language != "de" else "[A-Za-z]", stem):  # initials; z. B.
        return True
    if stem.isdecimal() and len(stem) <= 2 and language in _ORDINALS:
        return True
    return stem in _BEFORE_NUMBERS.get(language, "").split() and after[0].isdecimal()
