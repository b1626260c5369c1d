"""Languages of a corpus: ISO 639-1 codes with their names, and what file names tell."""

import dataclasses
import os
from collections.abc import Mapping, Sequence

from pipeline.cleaning.scripts import primary_code
from pipeline.corpora.compression import is_compressed
from pipeline.dataset.schema import SIDES

_TABLE = """
    aa Afar; ab Abkhazian; ae Avestan; af Afrikaans; ak Akan; am Amharic; an Aragonese; ar Arabic;
    as Assamese; av Avaric; ay Aymara; az Azerbaijani; ba Bashkir; be Belarusian; bg Bulgarian;
    bi Bislama; bm Bambara; bn Bengali; bo Tibetan; br Breton; bs Bosnian; ca Catalan; ce Chechen;
    ch Chamorro; co Corsican; cr Cree; cs Czech; cu Church Slavonic; cv Chuvash; cy Welsh;
    da Danish; de German; dv Dhivehi; dz Dzongkha; ee Ewe; el Greek; en English; eo Esperanto;
    es Spanish; et Estonian; eu Basque; fa Persian; ff Fulah; fi Finnish; fj Fijian; fo Faroese;
    fr French; fy Western Frisian; ga Irish; gd Scottish Gaelic; gl Galician; gn Guarani;
    gu Gujarati; gv Manx; ha Hausa; he Hebrew; hi Hindi; ho Hiri Motu; hr Croatian;
    ht Haitian Creole; hu Hungarian; hy Armenian; hz Herero; ia Interlingua; id Indonesian;
    ie Interlingue; ig Igbo; ii Sichuan Yi; ik Inupiaq; io Ido; is Icelandic; it Italian;
    iu Inuktitut; ja Japanese; jv Javanese; ka Georgian; kg Kongo; ki Kikuyu; kj Kuanyama;
    kk Kazakh; kl Greenlandic; km Khmer; kn Kannada; ko Korean; kr Kanuri; ks Kashmiri; ku Kurdish;
    kv Komi; kw Cornish; ky Kyrgyz; la Latin; lb Luxembourgish; lg Ganda; li Limburgish;
    ln Lingala; lo Lao; lt Lithuanian; lu Luba-Katanga; lv Latvian; mg Malagasy; mh Marshallese;
    mi Maori; mk Macedonian; ml Malayalam; mn Mongolian; mr Marathi; ms Malay; mt Maltese;
    my Burmese; na Nauru; nb Norwegian Bokmål; nd North Ndebele; ne Nepali; ng Ndonga; nl Dutch;
    nn Norwegian Nynorsk; no Norwegian; nr South Ndebele; nv Navajo; ny Chichewa; oc Occitan;
    oj Ojibwa; om Oromo; or Odia; os Ossetian; pa Punjabi; pi Pali; pl Polish; ps Pashto;
    pt Portuguese; qu Quechua; rm Romansh; rn Kirundi; ro Romanian; ru Russian; rw Kinyarwanda;
    sa Sanskrit; sc Sardinian; sd Sindhi; se Northern Sami; sg Sango; si Sinhala; sk Slovak;
    sl Slovenian; sm Samoan; sn Shona; so Somali; sq Albanian; sr Serbian; ss Swati;
    st Southern Sotho; su Sundanese; sv Swedish; sw Swahili; ta Tamil; te Telugu; tg Tajik; th Thai;
    ti Tigrinya; tk Turkmen; tl Tagalog; tn Tswana; to Tongan; tr Turkish; ts Tsonga; tt Tatar;
    tw Twi; ty Tahitian; ug Uyghur; uk Ukrainian; ur Urdu; uz Uzbek; ve Venda; vi Vietnamese;
    vo Volapük; wa Walloon; wo Wolof; xh Xhosa; yi Yiddish; yo Yoruba; za Zhuang; zh Chinese;
    zu Zulu
"""
NAMES: Mapping[str, str] = dict(
    (entry[:2], entry[3:]) for entry in " ".join(_TABLE.split()).split("; ")
)
_ASSUMED = ("en", "de")  # the paper's, and the built-in corpus's
_OF_FORMATS = (".txt", ".sgm", ".sgml")


@dataclasses.dataclass(frozen=True)
class Languages:
    """Codes of source and target, and how they are known unless by flags or a named data set."""

    codes: tuple[str, str]
    known_from: str = ""


def find_languages(
    given: tuple[str | None, str | None],
    of_dataset: tuple[str, str] | None,
    files: tuple[Sequence[str], Sequence[str]],
) -> Languages:
    """Returns the given languages; those that are not given come from elsewhere.

    They are those of a named data set, in the direction that fits the given one; else those of the
    file names, `train.en` and `train.fr`; else English and German.

    Args:
        given: codes from the flags, of source and target.
        of_dataset: languages of a named data set.
        files: addresses of the training files, of source and target.
    """
    missing = [f"--{side}_language" for side, code in zip(SIDES, given, strict=True) if not code]
    if of_dataset:
        is_reversed = given[0] == of_dataset[1] or given[1] == of_dataset[0]
        found, known_from = of_dataset[::-1] if is_reversed else of_dataset, ""
    elif of_files := _languages_of_files(*files):
        found, known_from = of_files, "from the file names"
    else:
        found, known_from = _ASSUMED, f"assumed: give {', '.join(missing)}"
    codes = given[0] or found[0], given[1] or found[1]
    return Languages(codes, known_from if missing else "")


def describe_language(code: str) -> str:
    """Returns a language's English name, or the code if it has none here.

    Example: "German" for "de", "Portuguese (pt-BR)" for "pt-BR", "tlh" for "tlh".
    """
    name = NAMES.get(primary_code(code), code)
    return name if code in NAMES or name == code else f"{name} ({code})"


def language_of_file(address: str) -> str | None:
    """Returns the language code that ends a file's name, or None.

    Example: "en" for `train.tok.en.gz`, for `dev.tgz::dev/news.en.sgm` and for `text/en`.
    """
    stem = os.path.basename(address)
    while is_compressed(stem) or stem.lower().endswith(_OF_FORMATS):
        stem = os.path.splitext(stem)[0]
    code = stem.rpartition(".")[2].lower()
    return code if code in NAMES else None


def _languages_of_files(
    source_files: Sequence[str], target_files: Sequence[str]
) -> tuple[str, str] | None:
    """Returns the two languages that all file names agree on, or None."""
    sources, targets = (set(map(language_of_file, files)) for files in (source_files, target_files))
    if len(sources) != 1 or len(targets) != 1 or sources == targets:
        return None
    source, target = *sources, *targets
    return (source, target) if source and target else None
