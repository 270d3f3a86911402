"""JAX arrays: on the slot itself where JAX can use it (CPU), otherwise copied to the device ahead of need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

from .._stream.reading import Taken
from ..batch import Batch
from ..errors import DefinitionError, MissingError
from ..views import Staged, View
from .decide import check_decode

if TYPE_CHECKING:
    from ..feed import Feed


def load_jax() -> Any:
    """JAX, which the package itself doesn't need; batches become trees that it knows."""
    try:
        import jax
    except ImportError as error:
        raise MissingError("JAX is not installed: pip install jax, or use .numpy() or .torch()") from error
    _register(jax)
    return jax


_registered = False


def _register(jax: Any) -> None:
    global _registered
    if _registered:
        return
    _registered = True

    def parts(batch: Batch) -> Any:
        names = tuple(batch)
        return tuple(batch[name] for name in names), names

    def whole(names: Any, values: Any) -> Batch:
        return Batch(zip(names, values))

    jax.tree_util.register_pytree_node(Batch, parts, whole)


class JaxView(View):
    """Arrays on a device, by a sharding, or (without either) on JAX's default device.

    On the CPU an array may lie in the slot itself, which then stays with it; elsewhere the slot goes back
    when its copy is done. Where a sharding reaches over several processes, each brings its own part of the
    batch.
    """

    def __init__(self, feed: "Feed", device: Any, names: Optional[Sequence[str]], prefetch: int) -> None:
        super().__init__(feed, names)
        self._jax = load_jax()
        self._where = device
        # On the CPU nothing is gained by copying early.
        self.prefetch = 0 if self._on_cpu(device) else max(0, prefetch)

    def _on_cpu(self, where: Any) -> bool:
        if isinstance(where, Mapping):
            return all(self._on_cpu(one) for one in where.values())
        if where is None:
            return bool(self._jax.default_backend() == "cpu")
        devices = getattr(where, "device_set", None) or {where}
        return all(getattr(device, "platform", None) == "cpu" for device in devices)

    def _prepare(self, taken: Taken) -> Staged:
        batch = taken.batch if self.prefetch == 0 else taken.batch.settled()
        # JAX keeps what it copies from, or has made its own, until it is done with it.
        taken.batch = batch.mapped(self._put)
        return Staged(taken, taken.batch)

    def _put(self, name: str, array: Any) -> Any:
        jax = self._jax
        where = self._where.get(name) if isinstance(self._where, Mapping) else self._where
        if self._kinds.get(name) == "bf16" and array.dtype.itemsize == 2:
            array = array.view(jax.numpy.bfloat16)
        if not hasattr(where, "device_set"):
            return jax.device_put(array, where)
        sharding = _fitted(jax, where, array.ndim)
        if sharding.is_fully_addressable:
            return jax.device_put(array, sharding)
        return jax.make_array_from_process_local_data(sharding, array)


def jax_view(
    feed: "Feed", device: Any, names: Optional[Sequence[str]], prefetch: int, decode: Optional[str] = None
) -> View:
    """The view that suits the device: one GPU has batches brought to it by the device stage."""
    jax = load_jax()
    if isinstance(device, str):
        raise DefinitionError(
            f'device="{device}": JAX has devices as objects: give jax.devices("{device}")[0], a sharding, '
            "or nothing for its default device"
        )
    one = jax.devices()[0] if device is None else device
    on_gpu = getattr(one, "platform", None) in ("gpu", "cuda")
    check_decode(feed, decode, on_gpu, "one GPU of JAX as device", one)
    if not on_gpu:
        return JaxView(feed, device, names, prefetch)
    from .jax_cuda import JaxCudaView

    return JaxCudaView(feed, one, names, prefetch, decode or "auto")


def _fitted(jax: Any, sharding: Any, ndim: int) -> Any:
    """One sharding serves pictures and labels: of its axes, those that an array has."""
    spec = getattr(sharding, "spec", None)
    if spec is None or len(spec) <= ndim:
        return sharding
    return jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec(*spec[:ndim]))
