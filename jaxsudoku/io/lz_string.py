"""LZ-string in base64, the compression of f-puzzles' and SudokuPad's links.

LZ78 over UTF-16 code units. Codes 0 and 1 announce a new unit of 8 or 16 bits, 2 ends the text, and further codes are
entries of a dictionary, which grows by the new units, and by each phrase extended by the first unit of the next one. A
code has as many bits as the number of entries; bits of a code are written lowest first, six to a character.
"""

from __future__ import annotations

import string

_ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
_VALUES = {character: value for value, character in enumerate(_ALPHABET)}
#: Codes of a new unit of 8 bits, of 16 bits, and of the end; entries are numbered after them.
_BYTE, _UNIT, _END = range(3)
_RESERVED = 3
#: Most units of a text; a short damaged one may expand to any length.
_MOST_UNITS = 1 << 24


def compress(text: str) -> str:
    """The text compressed, in base64."""
    data = text.encode("utf-16-le", "surrogatepass")
    units = [data[at : at + 2] for at in range(0, len(data), 2)]
    numbers: dict[bytes, int] = {}
    unwritten: set[bytes] = set()
    bits: list[int] = []
    entries, phrase = _RESERVED, b""

    def put(value: int, width: int) -> None:
        bits.extend(value >> bit & 1 for bit in range(width))

    def put_phrase() -> None:
        nonlocal entries
        if phrase in unwritten:
            unwritten.remove(phrase)
            wide = phrase[1] > 0
            put(_UNIT if wide else _BYTE, entries.bit_length())
            put(int.from_bytes(phrase, "little"), 16 if wide else 8)
            entries += 1
        else:
            put(numbers[phrase], entries.bit_length())

    written = 0
    for unit in units:
        if unit not in numbers:
            numbers[unit] = _RESERVED + len(numbers)
            unwritten.add(unit)
        if phrase + unit in numbers:
            phrase += unit
            continue
        if phrase:
            put_phrase()
            numbers[phrase + unit] = _RESERVED + len(numbers)
            written += 1
            entries += written > 1  # a reader adds a phrase when it knows the next one
        phrase = unit
    if phrase:
        put_phrase()
        entries += written > 0
    put(_END, entries.bit_length())
    bits += [0] * (6 - len(bits) % 6)
    characters = [_ALPHABET[int("".join(map(str, bits[at : at + 6])), 2)] for at in range(0, len(bits), 6)]
    return "".join(characters) + "=" * (-len(characters) % 4)


def decompress(packed: str) -> str:
    """The text of a compressed one.

    Raises:
      ValueError: it is damaged.
    """
    packed = packed.rstrip("=")
    wrong = next((character for character in packed if character not in _VALUES), None)
    if wrong is not None:
        raise ValueError(f"damaged: {wrong!r} is no character of base64")
    bits = "".join(f"{_VALUES[character]:06b}" for character in packed)
    at = 0

    def get(width: int) -> int:
        nonlocal at
        at += width
        if at > len(bits):
            raise ValueError("damaged: it breaks off")
        return int(bits[at - width : at][::-1], 2)

    entries: list[bytes] = [b""] * _RESERVED
    found: list[bytes] = []
    last, size = b"", 0
    while (code := get(len(entries).bit_length())) != _END:
        if code < _END:
            entries.append(get(16 if code == _UNIT else 8).to_bytes(2, "little"))
            code = len(entries) - 1
        if code > len(entries) or (code == len(entries) and not last):
            raise ValueError(f"damaged: there is no entry {code}")
        phrase = entries[code] if code < len(entries) else last + last[:2]
        found.append(phrase)
        size += len(phrase)
        if size > 2 * _MOST_UNITS:
            raise ValueError("damaged: the text is too long")
        if last:
            entries.append(last + phrase[:2])
        last = phrase
    if "1" in bits[at:] or len(bits) - at > 4 * 6:
        raise ValueError("damaged: something follows the end")
    return b"".join(found).decode("utf-16-le")
