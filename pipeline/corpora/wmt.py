"""WMT14: training corpora, newstest2013 and newstest2014.

https://www.statmt.org/wmt14/translation-task.html describes the corpora. Checksums come from
TensorFlow Datasets (url_checksums/wmt14_translate.txt and wmt_t2t_translate.txt) and sacreBLEU
(MD5s of test sets). Pair counts are published numbers of lines. For Giga and UN we know of no
published checksum.
"""

from pipeline.corpora.download import Download
from pipeline.corpora.named_dataset import NamedDataset, Part, WebFile


def _statmt(path: str, checksum: str | None = None) -> Download:
    """Returns a file of statmt.org; without a checksum, only encrypted connections are used."""
    hosts = ["https://www.statmt.org", "https://statmt.org"]
    hosts += ["http://www.statmt.org"] if checksum else []
    return Download(tuple(f"{host}/{path}" for host in hosts), checksum)


def _data_statmt(path: str, checksum: str) -> Download:
    hosts = ("https://data.statmt.org", "http://data.statmt.org")
    return Download(tuple(f"{host}/{path}" for host in hosts), checksum)


EUROPARL_V7 = _statmt(
    "wmt13/training-parallel-europarl-v7.tgz",
    "sha256:0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7",
)
COMMON_CRAWL = _statmt(
    "wmt13/training-parallel-commoncrawl.tgz",
    "sha256:c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5",
)
NEWS_COMMENTARY_V9 = _statmt(
    "wmt14/training-parallel-nc-v9.tgz",
    "sha256:cb8953f292298e6877ae433c98912b927cb0766b303f4540512ddd286c748485",
)
NEWS_COMMENTARY_V13 = _data_statmt(
    "wmt18/translation-task/training-parallel-nc-v13.tgz",
    "sha256:17992b7e919cfb754c60f4e754148bc23b80706ad0ed7b34150831a554b40c91",
)
UN = _statmt("wmt13/training-parallel-un.tgz")
GIGA = _statmt("wmt10/training-giga-fren.tar")
DEV = _data_statmt(
    "wmt19/translation-task/dev.tgz",
    "sha256:7a7deccf82ebb05ba508dba5eb21356492224e8f630ec4f992132b029b4b25e7",
)
TEST_2014 = _statmt("wmt14/test-full.tgz", "md5:a8cd784e006feb32ac6f3d9ec7eb389a")
TEST_2014_FILTERED = _statmt("wmt14/test-filtered.tgz", "md5:84c597844c1542e29c2aff23aaee4310")


def _corpus(name: str, archive: Download, stem: str, foreign: str, pairs: int | None) -> Part:
    """Returns a training corpus whose files have names like `STEM.de-en.de`."""
    suffix = ".gz" if archive is GIGA else ""
    pair = "" if archive is GIGA else f".{foreign}-en"
    files = {
        language: WebFile(archive, f"{stem}{pair}.{language}{suffix}")
        for language in (foreign, "en")
    }
    return Part(name, files, pairs)


def _newstest2014(archive: Download, folder: str, foreign: str, pairs: int | None) -> Part:
    member = f"{folder}/newstest2014-{foreign}en-{{role}}.{{language}}.sgm"
    files = {
        language: WebFile(archive, member.replace("{language}", language))
        for language in (foreign, "en")
    }
    return Part("newstest2014", files, pairs)


_NEWSTEST2013 = Part(
    "newstest2013",
    {
        code: WebFile(DEV, f"dev/newstest2013.{code}")
        for code in ("en", "de", "fr", "es", "cs", "ru")
    },
    3000,
)

EVALUATION_SETS = {
    "newstest2013": (_NEWSTEST2013,),
    "newstest2014": (
        _newstest2014(TEST_2014, "test-full", "de", 3003),
        _newstest2014(TEST_2014, "test-full", "fr", 3003),
    ),
    # The evaluation of 2014 used this set: newstest2014 without faulty lines.
    "newstest2014_filtered": (
        _newstest2014(TEST_2014_FILTERED, "test", "de", 2737),
        _newstest2014(TEST_2014_FILTERED, "test", "fr", None),
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
    ),
}
