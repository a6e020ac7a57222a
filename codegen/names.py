"""C identifiers made of the names in a model, which may hold anything."""

from __future__ import annotations

import re
from collections.abc import Sequence

_KEYWORDS = frozenset(
    {
        "asm",
        "auto",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "class",
        "const",
        "continue",
        "default",
        "delete",
        "do",
        "double",
        "else",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "main",
        "mutable",
        "namespace",
        "new",
        "operator",
        "private",
        "protected",
        "public",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "template",
        "this",
        "throw",
        "true",
        "try",
        "typedef",
        "typename",
        "typeof",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "while",
    }
)
_LONGEST = 40
_LONGEST_COMMENT = 72


def identifier(text: str, *, fallback: str = "model") -> str:
    """A lower-case C identifier that resembles ``text``, safe in C and C++; ``fallback`` when nothing is left of it."""
    words = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_").lower()
    words = words[:_LONGEST].rstrip("_")
    if not words:
        return fallback
    if words[0].isdigit() or words in _KEYWORDS or words.startswith("nnacl"):
        return f"{fallback}_{words}"
    return words


class UniqueNames:
    """Hands out names, each once: ``x``, ``x_2``, ``x_3``, ... With each name go those with a suffix behind it."""

    def __init__(self, suffixes: Sequence[str] = ()) -> None:
        self._suffixes = ("", *suffixes)
        self._taken: set[str] = set()

    def take(self, base: str) -> str:
        """``base``, with a number behind it if it has been taken."""
        name, number = base, 2
        while any(name + suffix in self._taken for suffix in self._suffixes):
            name, number = f"{base}_{number}", number + 1
        self._taken.update(name + suffix for suffix in self._suffixes)
        return name


def comment(text: str) -> str:
    """``text`` so that it can stand anywhere in a C comment or string literal, and in the comments of make and CMake.

    Each character is replaced on its own, so that none of them can come about by a replacement beside it: what is not
    printable ASCII, and whatever makes comment marks, escapes, continued lines or trigraphs, becomes ``{U+hex}``.
    """
    return "".join(map(_plain, text))


def short_comment(text: str) -> str:
    """As ``comment``, with the middle left out of a text that is too long to be read."""
    pieces = [_plain(character) for character in text]
    if sum(map(len, pieces)) <= _LONGEST_COMMENT:
        return "".join(pieces)
    return f"{_start(pieces)} ... {_start(pieces[::-1], backwards=True)}"


def _plain(character: str) -> str:
    if character == '"':
        return "'"
    if " " <= character <= "~" and character not in "*\\?":
        return character
    return f"{{U+{ord(character):04X}}}"


def _start(pieces: Sequence[str], *, backwards: bool = False) -> str:
    """As many whole pieces as 30 characters can hold; ``backwards``: their order is that of the end of a text."""
    taken: list[str] = []
    for piece in pieces:
        if sum(map(len, taken)) + len(piece) > 30:
            break
        taken.append(piece)
    return "".join(taken[::-1] if backwards else taken)
