"""`Part` → plain data (dicts, lists, numbers, strings) that `json.dumps` accepts."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TypeAlias

from .part import Part

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


def to_json(part: Part) -> Json:
    """`part` as data; every record names its class under "part"."""
    return _data(part)


def _data(value: object) -> Json:
    """A dataclass as a record without empty fields, a container as list or dict."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        record: dict[str, Json] = {"part": type(value).__name__}
        for field in fields(value):
            if field.repr:
                item = getattr(value, field.name)
                if item not in (None, "", (), False):
                    record[field.name] = _data(item)
        return record
    if isinstance(value, tuple | list):
        return [_data(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _data(item) for key, item in value.items()}
    raise TypeError(f"a Part may not hold a {type(value).__name__}: {value!r}")
