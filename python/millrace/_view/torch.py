"""PyTorch tensors: on the slot itself, or copied to a device by torch's own means (CUDA: torch_cuda.py)."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from .._stream.run import Run
from ..errors import MissingError
from .carrier import images_of, kinds_of


def load_torch() -> Any:
    """PyTorch, which the package itself doesn't need."""
    try:
        import torch
    except ImportError as error:
        raise MissingError(
            "PyTorch is not installed: pip install torch, or use .numpy() or .jax()"
        ) from error
    return torch


def to_tensor(torch: Any, array: Any, kind: Optional[str]) -> Any:
    """A tensor on the memory of a NumPy array, which it keeps. ``kind`` is the field's element type."""
    if kind == "bf16" and array.dtype.itemsize == 2:  # its offsets have four
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


class Tensors:
    """Makes tensors of a feed's arrays. With ``channels_last`` images are copied into that memory format."""

    def __init__(self, torch: Any, run: Run, channels_last: bool) -> None:
        self._torch = torch
        self._kinds = kinds_of(run)
        self._images = images_of(run) if channels_last else set()

    def of(self, name: str, array: Any) -> Any:
        """On the array's memory."""
        return self._formatted(name, to_tensor(self._torch, array, self._kinds.get(name)))

    def on(self, device: Any, name: str, array: Any) -> Any:
        """On a device, copied when this returns."""
        return self.of(name, array).to(device, copy=True)

    def soon_on(self, device: Any, name: str, array: Any) -> Any:
        """On a device, copied by the present stream."""
        tensor = to_tensor(self._torch, array, self._kinds.get(name)).to(device, non_blocking=True)
        return self._formatted(name, tensor)

    def _formatted(self, name: str, tensor: Any) -> Any:
        if name in self._images:
            return tensor.contiguous(memory_format=self._torch.channels_last)
        return tensor
