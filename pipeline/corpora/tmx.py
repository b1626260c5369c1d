"""Translation memories: TMX, the XML in which translators exchange aligned segments."""

from collections.abc import Iterator
from typing import BinaryIO
from xml.etree import ElementTree

from pipeline.cleaning.scripts import primary_code
from pipeline.common.errors import UserError
from pipeline.dataset.schema import Pair

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_NATIVE_CODES = frozenset({"bpt", "ept", "ph", "it", "ut"})  # hold mark-up of the original format


def read_tmx(file: BinaryIO, address: str, languages: tuple[str, str]) -> Iterator[Pair]:
    """Yields the segments of each translation unit in two languages, as (source, target).

    A unit that lacks a language has an empty side. `en` takes the segments of `en-GB` too.

    Raises:
        UserError: the file is no well-formed XML, or has nothing in a language.
    """
    primary = [primary_code(code) for code in languages]
    seen: set[str] = set()
    try:
        body: list[ElementTree.Element] = []
        for event, element in ElementTree.iterparse(file, events=("start", "end")):
            if event == "start" and _name(element) == "body":
                body.append(element)
            elif event == "end" and _name(element) == "tu":
                segments = _segments(element)
                seen.update(segments)
                source, target = (segments.get(code, "") for code in primary)
                yield source, target
                for parent in body:
                    parent.clear()  # memory does not grow with the file
    except ElementTree.ParseError as error:
        raise UserError(f"{address} is a broken TMX file ({error}): fetch it again") from error
    if missing := [code for code in primary if code not in seen]:
        found = ", ".join(sorted(seen)) or "no text"
        raise UserError(
            f"{address} has nothing in {missing[0]}: it has {found}; "
            "choose with --source_language and --target_language"
        )


def _segments(unit: ElementTree.Element) -> dict[str, str]:
    """Returns the text of each language's first segment."""
    found: dict[str, str] = {}
    for variant in unit:
        segment = next((child for child in variant if _name(child) == "seg"), None)
        if segment is not None:
            language = variant.get(_LANGUAGE) or variant.get("lang") or ""
            found.setdefault(primary_code(language), " ".join(_text(segment).split()))
    return found


def _text(element: ElementTree.Element) -> str:
    inner = (
        ("" if _name(child) in _NATIVE_CODES else _text(child)) + (child.tail or "")
        for child in element
    )
    return (element.text or "") + "".join(inner)


def _name(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]
