"""Which carrier suits a device: of PyTorch, or of JAX. What only GPUs need is imported where there is one."""

from __future__ import annotations

from functools import partial
from typing import Any, Optional

from .._stream.run import Run
from ..errors import DefinitionError, MissingError
from .carrier import Carrier, Copied, Mapped
from .decide import check_decode
from .jax import JaxArrays, load_jax
from .torch import Tensors, load_torch


def torch_carrier(
    run: Run, device: Any, prefetch: int, decode: Optional[str] = None, channels_last: bool = False
) -> Carrier:
    """The carrier that suits the device.

    On the CPU tensors lie in shared memory: no copy, writable, alive as long as anything refers to them. To
    devices that torch knows and we don't (xpu, mps, …) they are copied by torch, batch by batch.
    """
    torch = load_torch()
    where = torch.device("cpu" if device is None else device)
    check_decode(run.name, decode, where.type == "cuda", 'device="cuda"', where.type)
    if where.type == "cuda":
        if not torch.cuda.is_available():
            raise MissingError(
                f'device="{where}": this PyTorch ({torch.__version__}) finds no GPU. '
                "Check nvidia-smi and torch.cuda.is_available(), or leave the device out"
            )
        from .torch_cuda import TorchCuda

        return TorchCuda(run, where, prefetch, decode or "auto", channels_last)
    tensors = Tensors(torch, run, channels_last)
    if where.type == "cpu":
        return Mapped(run, tensors.of)
    return Copied(run, partial(tensors.on, where))


def jax_carrier(run: Run, device: Any, prefetch: int, decode: Optional[str] = None) -> Carrier:
    """The carrier that suits the device: one GPU has batches brought to it by the device stage."""
    jax = load_jax()
    if isinstance(device, str):
        raise DefinitionError(
            f'device="{device}": JAX has devices as objects: give jax.devices("{device}")[0], a sharding, '
            "or nothing for its default device"
        )
    one = jax.devices()[0] if device is None else device
    on_gpu = getattr(one, "platform", None) in ("gpu", "cuda")
    check_decode(run.name, decode, on_gpu, "one GPU of JAX as device", one)
    if not on_gpu:
        return JaxArrays(run, device, prefetch)
    from .jax_cuda import JaxCuda

    return JaxCuda(run, one, prefetch, decode or "auto")
