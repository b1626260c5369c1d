"""TMX (Translation Memory eXchange): XML files of aligned segments."""

from collections.abc import Iterator
from typing import BinaryIO
from xml.etree import ElementTree

from pipeline.cleaning.scripts import primary_code
from pipeline.common.errors import UserError
from pipeline.dataset.schema import Pair

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_NATIVE_CODES = frozenset({"bpt", "ept", "ph", "it", "ut"})  # markup of the original format


def read_tmx(file: BinaryIO, address: str, languages: tuple[str, str]) -> Iterator[Pair]:
    """Yields the segments of each translation unit in two languages, as (source, target).

    A unit that lacks a language has an empty side. `en` takes the segments of `en-GB` too.

    Raises:
        UserError: the file is not well-formed XML, or has no segment in a language.
    """
    codes = [primary_code(language) for language in languages]
    seen: set[str] = set()  # languages of the segments so far
    try:
        body: list[ElementTree.Element] = []
        for event, element in ElementTree.iterparse(file, events=("start", "end")):
            if event == "start" and _name(element) == "body":
                body.append(element)
            elif event == "end" and _name(element) == "tu":
                segments = _segments(element)
                seen.update(segments)
                source, target = (segments.get(code, "") for code in codes)
                yield source, target
                for parent in body:
                    parent.clear()  # bounds memory
    except ElementTree.ParseError as error:
        raise UserError(f"{address} is a broken TMX file ({error}): fetch it again") from error
    missing = [code for code in codes if code not in seen]
    if missing:
        present = ", ".join(sorted(seen)) or "no text"
        raise UserError(
            f"{address} has no segment in {missing[0]}: it has {present}; "
            "choose with --source_language and --target_language"
        )


def _segments(unit: ElementTree.Element) -> dict[str, str]:
    """Returns the text of each language's first segment."""
    segments: dict[str, str] = {}
    for variant in unit:
        segment = next((child for child in variant if _name(child) == "seg"), None)
        if segment is not None:
            language = variant.get(_LANGUAGE) or variant.get("lang") or ""
            segments.setdefault(primary_code(language), " ".join(_text(segment).split()))
    return segments


def _text(element: ElementTree.Element) -> str:
    inner = (
        ("" if _name(child) in _NATIVE_CODES else _text(child)) + (child.tail or "")
        for child in element
    )
    return (element.text or "") + "".join(inner)


def _name(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]
