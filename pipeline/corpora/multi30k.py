"""Multi30k: image captions in English, German and French (Elliott et al. 2016, 2017).

The files are the authors' compressed raw text, at the commit in the URLs; so are the checksums.
"""

from pipeline.corpora.download import Download
from pipeline.corpora.named_dataset import NamedDataset, Part, WebFile

_COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
_URLS = (
    f"https://raw.githubusercontent.com/multi30k/dataset/{_COMMIT}/data/task1/raw/",
    f"https://github.com/multi30k/dataset/raw/{_COMMIT}/data/task1/raw/",
)


def _part(stem: str, pairs: int, **checksums: str) -> Part:
    files = {
        code: WebFile(Download(tuple(f"{url}{stem}.{code}.gz" for url in _URLS), f"sha256:{value}"))
        for code, value in checksums.items()
    }
    return Part(stem, files, pairs)


_TRAIN = _part(
    "train",
    29_000,
    en="d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    de="726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    fr="622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
)
EVALUATION_SETS = {
    "multi30k_val": (
        _part(
            "val",
            1014,
            en="14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
            de="f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
            fr="ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
        ),
    ),
    "multi30k_test2016": (
        _part(
            "test_2016_flickr",
            1000,
            en="611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
            de="9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
            fr="6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
        ),
    ),
}
DATASETS = {
    f"multi30k_en_{foreign}": NamedDataset(
        f"Multi30k English–{name}, 29,000 image captions",
        ("en", foreign),
        (_TRAIN,),
        "multi30k_val",
        "multi30k_test2016",
    )
    for foreign, name in (("de", "German"), ("fr", "French"))
}
