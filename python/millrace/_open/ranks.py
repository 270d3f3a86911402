"""Which data-parallel rank this process is: as given, by a mesh or sharding, or by what launched it."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Mapping, NamedTuple, Optional

from .._generated.launchers import LAUNCHERS
from ..errors import DefinitionError


class Rank(NamedTuple):
    """A rank among ``world`` ranks, and who said so."""

    rank: int
    world: int
    source: str


def find_rank(
    rank: Optional[int], world: Optional[int], mesh: Any = None, env: Mapping[str, str] = os.environ
) -> Rank:
    """The rank given; of the mesh; of torch.distributed or JAX, if initialised; the launcher's; or 0 of 1."""
    if rank is not None or world is not None:
        return _checked(Rank(rank or 0, 1 if world is None else world, "given"))
    if mesh is not None:
        return _checked(of_mesh(mesh))
    return _checked(_of_torch() or _of_jax() or _of_launcher(env) or Rank(0, 1, "alone"))


def find_sequence(given: Any) -> Optional[Dict[str, Any]]:
    """The context-parallel rank, as the engine's option: ``(rank, world)``, with a layout, or of a mesh."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, (tuple, list)):
        if len(given) not in (2, 3):
            raise DefinitionError(
                'sequence: give (rank, world), (rank, world, "contiguous"), or a mesh such as mesh["cp"]'
            )
        return dict(zip(("rank", "world", "layout"), given))
    rank, world, _ = _checked(of_mesh(given))
    return {"rank": rank, "world": world}


def of_mesh(mesh: Any) -> Rank:
    """Of a torch DeviceMesh of one dimension (``mesh["dp"]``), or a JAX mesh or sharding."""
    if hasattr(mesh, "get_local_rank"):
        if getattr(mesh, "ndim", 1) != 1:
            raise DefinitionError(f'mesh: give one dimension of it, such as mesh["dp"], not all {mesh.ndim}')
        return Rank(mesh.get_local_rank(), mesh.size(), "device mesh")
    devices = getattr(mesh, "device_set", None)
    if devices is None and hasattr(mesh, "devices"):
        devices = set(mesh.devices.flat)
    if devices is None:
        raise DefinitionError("mesh: expected a torch DeviceMesh of one dimension, or a JAX mesh or sharding")
    import jax

    processes = sorted({device.process_index for device in devices})
    if jax.process_index() not in processes:
        raise DefinitionError("mesh: this process has no device in it")
    return Rank(processes.index(jax.process_index()), len(processes), "JAX sharding")


def _of_torch() -> Optional[Rank]:
    # Only where the trainer itself has imported it: we must not.
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return Rank(distributed.get_rank(), distributed.get_world_size(), "torch.distributed")


def _of_jax() -> Optional[Rank]:
    jax = sys.modules.get("jax")
    # Asking for the process index would start JAX's backends; it is initialised where there are several
    # processes.
    if jax is None or not getattr(jax.distributed, "is_initialized", lambda: False)():
        return None
    return Rank(jax.process_index(), jax.process_count(), "jax.distributed")


def _of_launcher(env: Mapping[str, str]) -> Optional[Rank]:
    # The engine looks for the same; but one that is shared has the environment of the rank that started it.
    for name, rank, world in LAUNCHERS:
        if rank in env and world in env:
            try:
                return Rank(int(env[rank]), int(env[world]), f"{name} ({rank}, {world})")
            except ValueError:
                raise DefinitionError(
                    f"{rank}={env[rank]!r} and {world}={env[world]!r} are no numbers ({name}): "
                    "give rank and world"
                ) from None
    return None


def _checked(found: Rank) -> Rank:
    rank, world, source = found
    if world < 1:
        raise DefinitionError(f"world: {world} is not a number of ranks ({source}): give at least 1")
    if not 0 <= rank < world:
        raise DefinitionError(f"rank: {rank} is not one of {world} ranks ({source}): they count from 0")
    return found
