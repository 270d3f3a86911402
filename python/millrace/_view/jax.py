"""JAX arrays: on the slot itself where JAX can use it (CPU), otherwise copied to the device ahead of need."""

from __future__ import annotations

from typing import Any, Mapping

from .._stream.reading import Taken
from .._stream.run import Run
from ..batch import Batch
from ..errors import MissingError
from .carrier import Carrier, Staged, kinds_of


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


class Arrays:
    """Makes JAX arrays of a feed's, where JAX is told to have them: a device, a sharding, or one by field."""

    def __init__(self, jax: Any, run: Run, where: Any) -> None:
        self._jax = jax
        self._where = where
        self._kinds = kinds_of(run)

    def of(self, name: str, array: Any) -> Any:
        """On the device. On the CPU it may lie in the slot itself."""
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


class JaxArrays(Carrier):
    """Arrays on a device, by a sharding, or (without either) on JAX's default device.

    On the CPU an array may lie in the slot itself, which then stays with it; elsewhere the slot goes back
    when its copy is done. Where a sharding reaches over several processes, each brings its own part of the
    batch.
    """

    def __init__(self, run: Run, device: Any, prefetch: int) -> None:
        super().__init__(run)
        jax = load_jax()
        # On the CPU nothing is gained by copying early.
        self.prefetch = 0 if _on_cpu(jax, device) else max(0, prefetch)
        self._arrays = Arrays(jax, run, device)

    def load(self, taken: Taken) -> Staged:
        batch = taken.batch if self.prefetch == 0 else taken.batch.settled()
        # JAX keeps what it copies from, or has made its own, until it is done with it.
        taken.batch = batch.mapped(self._arrays.of)
        return Staged(taken, taken.batch)


def _on_cpu(jax: Any, where: Any) -> bool:
    if isinstance(where, Mapping):
        return all(_on_cpu(jax, one) for one in where.values())
    if where is None:
        return bool(jax.default_backend() == "cpu")
    devices = getattr(where, "device_set", None) or {where}
    return all(getattr(device, "platform", None) == "cpu" for device in devices)


def _fitted(jax: Any, sharding: Any, ndim: int) -> Any:
    """One sharding serves pictures and labels: of its axes, those that an array has."""
    spec = getattr(sharding, "spec", None)
    if spec is None or len(spec) <= ndim:
        return sharding
    return jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec(*spec[:ndim]))
