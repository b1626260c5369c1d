"""Parses pages as a browser does: elements, their text, and what they would load."""

import re
from html.parser import HTMLParser
from typing import NamedTuple

VOID = {"meta", "br"}
LOADING = {"src", "href", "data", "srcset", "poster", "action", "formaction", "background"}


class Element(NamedTuple):
    tag: str
    attributes: dict[str, str | None]
    text: list[str]


class Page(HTMLParser):
    """A parsed page; raises ValueError for elements that are not properly nested."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(text)
        self.close()
        if self._open:
            raise ValueError(f"never closed: {[element.tag for element in self._open]}")

    def all(self, tag: str, name: str = "") -> list[Element]:
        """Elements of a tag, those of a class alone when it is given."""
        return [
            element
            for element in self.elements
            if element.tag == tag
            and (not name or name in (element.attributes.get("class") or "").split())
        ]

    def texts(self, tag: str) -> list[str]:
        return ["".join(element.text) for element in self.all(tag)]

    def loads(self) -> list[str]:
        """Attributes and styles that would fetch something."""
        references = [
            f"{element.tag} {name}={value}"
            for element in self.elements
            for name, value in element.attributes.items()
            if name in LOADING
        ]
        code = "".join([*self.texts("style"), *self.texts("script")])
        return references + re.findall(r"@import|url\(|fetch\(|XMLHttpRequest|import\(", code)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs), [])
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs), []))

    def handle_endtag(self, tag: str) -> None:
        opened = self._open.pop()
        if opened.tag != tag:
            raise ValueError(f"<{opened.tag}> closed by </{tag}>")

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text.append(data)
