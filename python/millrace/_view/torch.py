"""PyTorch tensors: on the slot itself, or copied to a device by torch's own means (CUDA: torch_cuda.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence

import numpy as np

from .._stream.reading import Taken
from ..errors import MissingError
from ..views import Staged, View
from .decide import check_decode

if TYPE_CHECKING:
    from ..feed import Feed


def load_torch() -> Any:
    """PyTorch, which the package itself doesn't need."""
    try:
        import torch
    except ImportError as error:
        raise MissingError(
            "PyTorch is not installed: pip install torch, or use .numpy() or .jax()"
        ) from error
    return torch


def torch_view(
    feed: "Feed",
    device: Any,
    names: Optional[Sequence[str]],
    prefetch: int,
    decode: Optional[str] = None,
    channels_last: bool = False,
) -> View:
    """The view that suits the device."""
    torch = load_torch()
    where = torch.device("cpu" if device is None else device)
    check_decode(feed, decode, where.type == "cuda", 'device="cuda"', where.type)
    if where.type == "cpu":
        return TorchView(feed, names, channels_last)
    if where.type == "cuda":
        if not torch.cuda.is_available():
            raise MissingError(
                f'device="{where}": this PyTorch ({torch.__version__}) finds no GPU. '
                "Check nvidia-smi and torch.cuda.is_available(), or leave the device out"
            )
        from .torch_cuda import CudaView

        return CudaView(feed, names, where, prefetch, decode or "auto", channels_last)
    return DeviceView(feed, names, where, channels_last)


def to_tensor(torch: Any, array: Any, kind: Optional[str]) -> Any:
    """A tensor on the memory of a NumPy array, which it keeps. ``kind`` is the field's element type."""
    if kind == "bf16" and array.dtype.itemsize == 2:  # its offsets have four
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


class TorchView(View):
    """Tensors that lie in shared memory: no copy, writable, alive as long as anything refers to them. With
    ``channels_last`` images are copied into that memory format."""

    def __init__(self, feed: "Feed", names: Optional[Sequence[str]], channels_last: bool = False) -> None:
        super().__init__(feed, names)
        self._torch = load_torch()
        self._channels_last = channels_last

    def _prepare(self, taken: Taken) -> Staged:
        return Staged(taken, taken.batch.mapped(self._tensor))

    def _tensor(self, name: str, array: Any) -> Any:
        tensor = to_tensor(self._torch, array, self._kinds.get(name))
        if self._channels_last and name in self._images:
            return tensor.contiguous(memory_format=self._torch.channels_last)
        return tensor


class DeviceView(TorchView):
    """Tensors on a device that torch knows and we don't (xpu, mps, …): copied by torch, batch by batch."""

    def __init__(
        self, feed: "Feed", names: Optional[Sequence[str]], device: Any, channels_last: bool = False
    ) -> None:
        super().__init__(feed, names, channels_last)
        self._device = device

    def _prepare(self, taken: Taken) -> Staged:
        # Nothing refers to the slot any more when this is done.
        taken.batch = taken.batch.settled().mapped(self._upload)
        return Staged(taken, taken.batch)

    def _upload(self, name: str, array: Any) -> Any:
        return self._tensor(name, array).to(self._device, copy=True)
