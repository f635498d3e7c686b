"""Strict, ASCII-escaped JSON for values that JSON cannot hold: each becomes a tagged object and comes back as it was.

    NaN, ±inf, huge integers, bytes, dates, times, Decimal, UUID, complex, set, frozenset, tuple, dicts with other keys

What has no exact form (an arbitrary object, a cycle) becomes a visible substitution: its type and its repr. Nothing is
ever refused: a message must not be lost because something odd hangs on it. It refuses to know LangChain.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from json.encoder import encode_basestring_ascii
from math import isfinite
from uuid import UUID

TAG = "__memcli__"
DEEPEST = 80
"""Levels of lists and objects kept; what lies deeper becomes its repr, so that no reader runs out of stack.

A level is up to four levels of JSON, and CPython's reader takes about 1,000.
"""
LONGEST_REPR = 2000
LARGEST_PLAIN = 10**18
"""Integers below this are written without a closer look at their digits."""
MOST_DIGITS = 4000
"""CPython refuses to read integers of over 4,300 digits (sys.int_info.default_max_str_digits)."""


_Within = tuple[int, ...]
_Packer = Callable[[object, _Within], object]


_DECODER = json.JSONDecoder()
_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"), check_circular=False)
"""What json.loads and json.dumps would make anew on every call. `pack` leaves no circle."""


def dumps(value: object) -> str:
    """Write any value as strict JSON on one line. Never raises."""
    return _texts(value) or _ENCODER.encode(value if _is_plain(value) else pack(value))


def loads(text: str) -> object:
    """Read what dumps wrote. Raises ValueError when it is not JSON."""
    value, end = _DECODER.raw_decode(text) if text[:1] == "{" else (None, 0)
    if end != len(text):  # not what dumps writes for a message: let the whole text be judged
        value = _DECODER.decode(text)
    return unpack(value) if TAG in text else value


def pack(value: object, within: _Within = ()) -> object:
    """Turn any value into what strict JSON holds. `within` names the containers around it, for cycles."""
    if value is None or value is True or value is False or type(value) is str:
        return value
    if len(within) > DEEPEST or id(value) in within:
        return _substitute(value)
    packer = _PACKERS.get(type(value)) or next((other for kind, other in _BASES if isinstance(value, kind)), None)
    if packer is None:
        return _substitute(value)
    try:
        return packer(value, (*within, id(value)))
    except Exception:  # noqa: BLE001 - anybody's mapping or subclass; a message must not be lost because of it
        return _substitute(value)


def unpack(value: object) -> object:
    """Turn what strict JSON held back into the value. A tag from a newer version stays as it is, visibly."""
    if isinstance(value, list):
        return [unpack(item) for item in value]
    if not isinstance(value, dict):
        return value
    reader = _READERS.get(str(value[TAG])) if TAG in value else None
    if reader is None or "value" not in value:
        return {key: unpack(item) for key, item in value.items()}
    try:
        return reader(value["value"])
    except (TypeError, ValueError, ArithmeticError):
        return value


def _texts(value: object) -> str | None:
    """Write what most messages are, texts by name; None for anything else."""
    if type(value) is not dict:
        return None
    items: list[str] = []
    for key, item in value.items():
        if type(item) is not str or type(key) is not str or key == TAG:
            return None
        items.append(f"{encode_basestring_ascii(key)}:{encode_basestring_ascii(item)}")
    return f"{{{','.join(items)}}}"


def _is_plain(value: object, depth: int = 0) -> bool:
    """Tell whether JSON holds a value as it is: packing would change nothing."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return -LARGEST_PLAIN < value < LARGEST_PLAIN  # type: ignore[operator]
    if kind is float:
        return isfinite(value)  # type: ignore[arg-type]
    if depth > DEEPEST:
        return False
    if kind is list:
        return _are_plain(value, depth + 1)  # type: ignore[arg-type]
    if kind is not dict:
        return False
    keys: Mapping[object, object] = value  # type: ignore[assignment]
    for key in keys:
        if type(key) is not str or key == TAG:
            return False
    return _are_plain(keys.values(), depth + 1)


def _are_plain(values: Iterable[object], depth: int) -> bool:
    for value in values:  # noqa: SIM110 - a generator takes twice as long, and a list does not end at the first that is not
        if type(value) is not str and not _is_plain(value, depth):
            return False
    return True


def _tagged(kind: str, value: object) -> dict[str, object]:
    return {TAG: kind, "value": value}


def _substitute(value: object) -> dict[str, object]:
    try:
        shown = repr(value)[:LONGEST_REPR]
    except Exception as err:  # noqa: BLE001 - anybody's __repr__; a message must not be lost because of it
        shown = f"<repr failed: {type(err).__name__}>"
    return _tagged("repr", {"type": f"{type(value).__module__}.{type(value).__qualname__}", "repr": shown})


def _pack_int(value: object, _: _Within) -> object:
    assert isinstance(value, int)
    return _tagged("int", hex(value)) if value.bit_length() > 3 * MOST_DIGITS else value


def _pack_float(value: object, _: _Within) -> object:
    assert isinstance(value, float)
    return value if isfinite(value) else _tagged("float", str(value))


def _pack_list(value: object, within: _Within) -> object:
    assert isinstance(value, list)
    return [pack(item, within) for item in value]


def _pack_dict(value: object, within: _Within) -> object:
    assert isinstance(value, Mapping)
    packed: dict[str, object] = {}
    for key, item in value.items():
        if type(key) is not str or key == TAG:
            return _tagged("dict", [[pack(key, within), pack(item, within)] for key, item in value.items()])
        packed[key] = item if type(item) is str else pack(item, within)
    return packed


def _pack_items(kind: str) -> _Packer:
    def packer(value: object, within: _Within) -> object:
        assert isinstance(value, tuple | set | frozenset)
        items = value if isinstance(value, tuple) else sorted(value, key=repr)
        return _tagged(kind, [pack(item, within) for item in items])

    return packer


def _pack_text(kind: str, write: Callable[..., str]) -> _Packer:
    def packer(value: object, _: _Within) -> object:
        return _tagged(kind, write(value))

    return packer


def _write_bytes(value: bytes) -> str:
    return b64encode(value).decode("ascii")


def _write_delta(value: timedelta) -> str:
    return f"{value.days} {value.seconds} {value.microseconds}"


def _read_delta(text: str) -> timedelta:
    days, seconds, microseconds = (int(piece) for piece in text.split())
    return timedelta(days, seconds, microseconds)


def _read_pairs(pairs: list[list[object]]) -> dict[object, object]:
    return {unpack(key): unpack(item) for key, item in pairs}


def _read_int(text: str) -> int:
    return int(text, 16) if text.startswith(("0x", "-0x")) else int(Decimal(text))


_PACKERS: dict[type, _Packer] = {
    int: _pack_int,
    float: _pack_float,
    list: _pack_list,
    dict: _pack_dict,
    tuple: _pack_items("tuple"),
    set: _pack_items("set"),
    frozenset: _pack_items("frozenset"),
    bytes: _pack_text("bytes", _write_bytes),
    bytearray: _pack_text("bytearray", _write_bytes),
    datetime: _pack_text("datetime", datetime.isoformat),
    date: _pack_text("date", date.isoformat),
    time: _pack_text("time", time.isoformat),
    timedelta: _pack_text("timedelta", _write_delta),
    Decimal: _pack_text("decimal", str),
    UUID: _pack_text("uuid", str),
    complex: _pack_text("complex", str),
}
_BASES: tuple[tuple[type, _Packer], ...] = (
    (str, lambda value, _: str.__str__(value)),
    (int, lambda value, within: _pack_int(int.__int__(value), within)),  # type: ignore[arg-type]
    (float, lambda value, within: _pack_float(float.__float__(value), within)),  # type: ignore[arg-type]
    (list, _pack_list),
    (tuple, _pack_items("tuple")),
    (set, _pack_items("set")),
    (frozenset, _pack_items("frozenset")),
    (Mapping, _pack_dict),
)
"""Classes of somebody's own come back as the built-in one they are equal to."""
_READERS: dict[str, Callable[..., object]] = {
    "float": float,
    "int": _read_int,
    "tuple": lambda items: tuple(unpack(item) for item in items),
    "set": lambda items: {unpack(item) for item in items},
    "frozenset": lambda items: frozenset(unpack(item) for item in items),
    "dict": _read_pairs,
    "bytes": b64decode,
    "bytearray": lambda text: bytearray(b64decode(text)),
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": _read_delta,
    "decimal": Decimal,
    "uuid": UUID,
    "complex": complex,
}
