"""DLPack: an array handed to another library without a copy, as a capsule around a struct that owns it.

The struct and what it refers to are kept in ``_exported`` until its deleter is called: by the library that
took the capsule over (which renames it ``used_dltensor``), or, if none did, by the capsule's destructor.
"""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Dict, Sequence, Tuple

from .._generated.dtypes import DLPACK

CPU, CUDA = 1, 2


class DLTensor(ctypes.Structure):
    """48 bytes."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class DLManagedTensor(ctypes.Structure):
    """64 bytes: the tensor, and how it is given back."""

    _fields_ = [("tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", _Deleter)]


#: By address of the struct: what must live until its deleter is called.
_exported: Dict[int, Tuple[Any, ...]] = {}

_NAME = b"dltensor"

_new = ctypes.pythonapi.PyCapsule_New
_new.argtypes, _new.restype = (c_void_p, ctypes.c_char_p, c_void_p), ctypes.py_object
# A capsule that is being destroyed has no references left: as py_object it would get one, and be destroyed
# again.
_valid = ctypes.pythonapi.PyCapsule_IsValid
_valid.argtypes, _valid.restype = (c_void_p, ctypes.c_char_p), ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = (c_void_p, ctypes.c_char_p), c_void_p


def _release(address: int) -> None:
    """Called by the library that took the tensor over, in any thread; ctypes takes the GIL."""
    _exported.pop(address, None)


def _end(capsule: int) -> None:
    """A capsule's end. One that was taken over has another name, and its tensor another owner."""
    if _valid(capsule, _NAME):
        _exported.pop(_pointer(capsule, _NAME), None)


_delete = _Deleter(_release)
_destroy = ctypes.PYFUNCTYPE(None, c_void_p)(_end)
# Other libraries may call these as long as the process lives, whatever becomes of this module.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_delete))
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_destroy))


def capsule(
    owner: Any,
    address: int,
    kind: str,
    shape: Sequence[int],
    strides: Sequence[int],
    device: Tuple[int, int],
) -> Any:
    """A capsule for a tensor that keeps ``owner``. Strides are counted in elements."""
    code, bits = DLPACK[kind]
    dims = (c_int64 * len(shape))(*shape)
    steps = (c_int64 * len(strides))(*strides)
    managed = DLManagedTensor()
    tensor = managed.tensor
    tensor.data = address
    tensor.device_type, tensor.device_id = device
    tensor.ndim = len(shape)
    tensor.code, tensor.bits, tensor.lanes = code, bits, 1
    tensor.shape = ctypes.cast(dims, ctypes.POINTER(c_int64))
    tensor.strides = ctypes.cast(steps, ctypes.POINTER(c_int64))
    managed.deleter = _delete
    where = ctypes.addressof(managed)
    _exported[where] = (managed, dims, steps, owner)
    return _new(where, _NAME, ctypes.cast(_destroy, c_void_p))


def exported() -> int:
    """How many tensors are in other libraries' hands."""
    return len(_exported)
