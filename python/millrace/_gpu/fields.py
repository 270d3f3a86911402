"""Which class finishes a field on the device, by its kind. Fields of other kinds are copied or generated."""

from __future__ import annotations

from typing import Any, Callable, Dict, Hashable, Mapping, Union

from .compressed import CompressedField
from .picture import PictureField

DeviceField = Union[PictureField, CompressedField]

KINDS: Mapping[str, Callable[..., DeviceField]] = {"picture": PictureField, "compressed": CompressedField}


def device_fields(tools: Any, told: Mapping[str, Mapping[str, Any]]) -> Dict[Hashable, DeviceField]:
    """The fields of which the engine told, by name."""
    return {
        name: KINDS[device["kind"]](tools, name, device)
        for name, device in told.items()
        if device["kind"] in KINDS
    }
