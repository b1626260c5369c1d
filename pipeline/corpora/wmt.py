"""WMT14: training corpora, newstest2013 and newstest2014.

https://www.statmt.org/wmt14/translation-task.html describes the corpora. Checksums and sizes come
from TensorFlow Datasets (url_checksums/wmt14_translate.txt and wmt_t2t_translate.txt) and sacreBLEU
(MD5s of test sets). Pair counts are published numbers of lines. For Giga and UN we know of no
published checksum.

Mirrors are zip files of the Hugging Face hub with the same members, which the loading script of
wmt/wmt14 (wmt_utils.py) names. Their checksums and sizes and the bytes of the text come from the
hub's dataset_infos.json of wmt14 and wmt_t2t.
"""

from collections.abc import Mapping

from pipeline.corpora.download import Download
from pipeline.corpora.named_dataset import NamedDataset, Part, WebFile

_HUB = "https://huggingface.co/datasets/wmt"


def _statmt(path: str, checksum: str | None = None, size: int | None = None) -> Download:
    """Returns a file of statmt.org; without a checksum, only encrypted connections are used."""
    hosts = ["https://www.statmt.org", "https://statmt.org"]
    hosts += ["http://www.statmt.org"] if checksum else []
    return Download(tuple(f"{host}/{path}" for host in hosts), checksum, size)


def _data_statmt(path: str, checksum: str, size: int) -> Download:
    hosts = ("https://data.statmt.org", "http://data.statmt.org")
    return Download(tuple(f"{host}/{path}" for host in hosts), checksum, size)


def _hub(year: str, path: str, sha256: str, size: int) -> Download:
    """Returns a zip file of the Hugging Face hub."""
    return Download((f"{_HUB}/{year}/resolve/main-zip/{path}",), f"sha256:{sha256}", size)


EUROPARL_V7 = _statmt(
    "wmt13/training-parallel-europarl-v7.tgz",
    "sha256:0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7",
    657_632_379,
)
COMMON_CRAWL = _statmt(
    "wmt13/training-parallel-commoncrawl.tgz",
    "sha256:c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5",
    918_311_367,
)
NEWS_COMMENTARY_V9 = _statmt(
    "wmt14/training-parallel-nc-v9.tgz",
    "sha256:cb8953f292298e6877ae433c98912b927cb0766b303f4540512ddd286c748485",
    80_418_416,
)
NEWS_COMMENTARY_V13 = _data_statmt(
    "wmt18/translation-task/training-parallel-nc-v13.tgz",
    "sha256:17992b7e919cfb754c60f4e754148bc23b80706ad0ed7b34150831a554b40c91",
    113_157_482,
)
UN = _statmt("wmt13/training-parallel-un.tgz")
GIGA = _statmt("wmt10/training-giga-fren.tar", size=2_595_102_720)
DEV = _data_statmt(
    "wmt19/translation-task/dev.tgz",
    "sha256:7a7deccf82ebb05ba508dba5eb21356492224e8f630ec4f992132b029b4b25e7",
    38_654_961,
)
TEST_2014 = _statmt("wmt14/test-full.tgz", "md5:a8cd784e006feb32ac6f3d9ec7eb389a")
TEST_2014_FILTERED = _statmt("wmt14/test-filtered.tgz", "md5:84c597844c1542e29c2aff23aaee4310")

DEV_ZIP = _hub(
    "wmt19",
    "translation-task/dev.zip",
    "d796e363740fdc4261aa6f5a3d2f8223e3adaee7d737b7724863325b8956dfd1",
    38_714_274,
)
MIRRORS = {  # with members of the same names
    EUROPARL_V7: _hub(
        "wmt13",
        "training-parallel-europarl-v7.zip",
        "5b2d8b32c2396da739b4e731871c597fcc6e75729becd74619d0712eecf7770e",
        658_092_427,
    ),
    COMMON_CRAWL: _hub(
        "wmt13",
        "training-parallel-commoncrawl.zip",
        "5ffe980072ea29adfd84568d099bea366d9f72772b988e670794ae851b4e5627",
        918_734_483,
    ),
    NEWS_COMMENTARY_V9: _hub(
        "wmt14",
        "training-parallel-nc-v9.zip",
        "ce199f93ec56ff480137ba29f0819f9a22e70d88be6d7458f112303d67d623d5",
        80_462_375,
    ),
    NEWS_COMMENTARY_V13: _hub(
        "wmt18",
        "translation-task/training-parallel-nc-v13.zip",
        "feff2c0315f66f94a9373bffa419f5664e16dc1e05298f0e37b2869ce4604b70",
        113_221_161,
    ),
    UN: _hub(
        "wmt13",
        "training-parallel-un.zip",
        "74f07002e053c81bc7f73b4fdab58e7987e831338748f264cbda82a8b062d2e2",
        2_366_237_633,
    ),
    GIGA: _hub(
        "wmt10",
        "training-giga-fren.zip",
        "9439f86523e5dff3f923526dbf6c6929da1786c18dbf64436d2b7564b83aaba3",
        2_595_877_717,
    ),
    DEV: DEV_ZIP,
}

_Files = Mapping[str, WebFile]  # by language code


def _mirrored(files: _Files) -> tuple[_Files, ...]:
    """Returns the same members of the archives' mirrors."""
    return (
        {
            language: WebFile(MIRRORS[file.download], file.member)
            for language, file in files.items()
        },
    )


def _corpus(name: str, archive: Download, stem: str, foreign: str, pairs: int | None) -> Part:
    """Returns a training corpus whose files have names like `STEM.de-en.de`."""
    suffix = ".gz" if archive is GIGA else ""
    pair = "" if archive is GIGA else f".{foreign}-en"
    files = {
        language: WebFile(archive, f"{stem}{pair}.{language}{suffix}")
        for language in (foreign, "en")
    }
    return Part(name, files, pairs, _mirrored(files), f"hf:wmt/wmt14:{foreign}-en")


def _newstest2014(foreign: str) -> Part:
    """Returns the full test set; its mirror is among the development sets, under other names."""
    files, mirror = (
        _newstest2014_files(archive, folder, foreign)
        for archive, folder in ((TEST_2014, "test-full"), (DEV_ZIP, "dev"))
    )
    return Part("newstest2014", files, 3003, (mirror,))


def _newstest2014_filtered(foreign: str, pairs: int | None) -> Part:
    return Part("newstest2014", _newstest2014_files(TEST_2014_FILTERED, "test", foreign), pairs)


def _newstest2014_files(archive: Download, folder: str, foreign: str) -> _Files:
    member = f"{folder}/newstest2014-{foreign}en-{{role}}.{{language}}.sgm"
    return {
        language: WebFile(archive, member.replace("{language}", language))
        for language in (foreign, "en")
    }


_NEWSTEST2013_FILES = {
    code: WebFile(DEV, f"dev/newstest2013.{code}") for code in ("en", "de", "fr", "es", "cs", "ru")
}
_NEWSTEST2013 = Part("newstest2013", _NEWSTEST2013_FILES, 3000, _mirrored(_NEWSTEST2013_FILES))

EVALUATION_SETS = {
    "newstest2013": (_NEWSTEST2013,),
    "newstest2014": (
        _newstest2014("de"),
        _newstest2014("fr"),
    ),
    # The evaluation of 2014 used this set: newstest2014 without faulty lines.
    "newstest2014_filtered": (
        _newstest2014_filtered("de", 2737),
        _newstest2014_filtered("fr", None),
    ),
}

_EUROPARL_DE = _corpus("europarl_v7", EUROPARL_V7, "training/europarl-v7", "de", 1_920_209)
_COMMON_CRAWL_DE = _corpus("commoncrawl", COMMON_CRAWL, "commoncrawl", "de", 2_399_123)
_NEWS_V9, _NEWS_V13 = "training/news-commentary-v9", "training-parallel-nc-v13/news-commentary-v13"

DATASETS = {
    "wmt14_en_de": NamedDataset(
        "WMT14 English–German as the task defined it, 4,520,620 pairs (4.5 million in §5.1)",
        ("en", "de"),
        (
            _EUROPARL_DE,
            _COMMON_CRAWL_DE,
            _corpus("news_commentary_v9", NEWS_COMMENTARY_V9, _NEWS_V9, "de", 201_288),
        ),
        "newstest2013",
        "newstest2014",
        1_358_410_408,
    ),
    "wmt14_en_de_t2t": NamedDataset(
        "the same as Tensor2Tensor reads it, News Commentary v13 in place of v9",
        ("en", "de"),
        (
            _EUROPARL_DE,
            _COMMON_CRAWL_DE,
            _corpus("news_commentary_v13", NEWS_COMMENTARY_V13, _NEWS_V13, "de", None),
        ),
        "newstest2013",
        "newstest2014",
        1_385_110_179,
    ),
    "wmt14_en_fr": NamedDataset(
        "WMT14 English–French, 40,842,333 pairs (36 million in §5.1)",
        ("en", "fr"),
        (
            _corpus("europarl_v7", EUROPARL_V7, "training/europarl-v7", "fr", 2_007_723),
            _corpus("commoncrawl", COMMON_CRAWL, "commoncrawl", "fr", 3_244_152),
            _corpus("news_commentary_v9", NEWS_COMMENTARY_V9, _NEWS_V9, "fr", 183_251),
            _corpus("un", UN, "un/undoc.2000", "fr", 12_886_831),
            _corpus("giga", GIGA, "giga-fren.release2.fixed", "fr", 22_520_376),
        ),
        "newstest2013",
        "newstest2014",
        14_752_554_924,
    ),
}
