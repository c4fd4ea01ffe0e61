"""Escapes untrusted texts, such as file names, for terminals, XML and HTML. No JAX.

Characters that control a terminal, hide or reorder text, or are invalid in XML are written as escapes, such as
``\\x1b``. These are control characters, line and paragraph separators, embeddings, overrides and isolates of
bidirectional text, halves of surrogate pairs (bytes of a name that is not UTF-8) and the noncharacters of XML 1.0.
"""

from __future__ import annotations

import html
import re

#: The characters that are escaped; in XML and HTML tabs and newlines are white space, and stay.
_ACTING = "\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff"
_IN_LINES = re.compile(f"[{_ACTING}]")
_IN_MARKUP = re.compile(f"(?![\t\n])[{_ACTING}]")

_SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def shown(text: str) -> str:
    """A text as one line for a terminal or a picture."""
    return text if text.isprintable() else _IN_LINES.sub(_escape, text)


def markup(text: str) -> str:
    """Escapes a text for XML and HTML: the content of elements, and attributes in single or double quotes."""
    return html.escape(text if text.isprintable() else _IN_MARKUP.sub(_escape, text))


def _escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    byte = number - 0xDC00 if 0xDC80 <= number <= 0xDCFF else number  # of a name that is not UTF-8
    return _SHORT.get(match[0]) or (f"\\x{byte:02x}" if byte != number or number < 0x80 else f"\\u{number:04x}")
