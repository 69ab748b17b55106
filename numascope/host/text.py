"""Text from outside is hostile: the one place where names, command lines and paths become safe to print."""

from __future__ import annotations

import unicodedata


def safe_text(raw: bytes | str) -> str:
    r"""Makes any bytes printable: what is not UTF-8 and every control, format or separator character becomes `\xNN` or `\u{…}`, a backslash `\\`."""
    text = raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else raw
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return "".join(map(_safe, text))


def _safe(one: str) -> str:
    if one == "\\":
        return "\\\\"
    code = ord(one)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, by surrogateescape
        return f"\\x{code - 0xDC00:02x}"
    if one != " " and unicodedata.category(one)[0] in "CZ":
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"
    return one
