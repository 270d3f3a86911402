"""Which data-parallel rank this process is: as given, by a mesh or sharding, or by what launched it."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple

from .._generated.launchers import LAUNCHERS
from ..errors import DefinitionError


class Rank(NamedTuple):
    """A rank among ``world`` ranks, and who said so."""

    rank: int
    world: int
    source: str


class Seat:
    """The rank of an open feed. Where none was given, that of a process group that comes later is taken."""

    def __init__(self, now: Rank, given: bool, ask: Callable[[Rank], Tuple[Any, Mapping[str, Any]]]) -> None:
        self.now = now
        #: Whether it stays, whatever comes: it was given, or taken from a group.
        self._settled = given
        #: Where the engine of a rank is met, and what is asked of it.
        self.ask = ask

    def another(self) -> Optional[Rank]:
        """Another rank, where one is known by now. Raises where nothing says which of several this is."""
        found = self.now if self._settled else known_rank()
        return None if found[:2] == self.now[:2] else found

    def take(self, found: Rank) -> None:
        """From now on this is the rank."""
        self.now, self._settled = found, True


def find_rank(
    rank: Optional[int], world: Optional[int], mesh: Any = None, env: Mapping[str, str] = os.environ
) -> Rank:
    """The rank given; of the mesh; of torch.distributed or JAX, if initialised; the launcher's; or 0 of 1."""
    if rank is not None and world is not None:
        return _checked(Rank(rank, world, "given"))
    if rank is not None:
        raise DefinitionError(f"world: rank={rank} of how many? Give world as well: the number of all ranks")
    if world is not None:
        raise DefinitionError(f"rank: which one of world={world}? Give rank as well, counted from 0")
    if mesh is not None:
        return _checked(of_mesh(mesh))
    return _of_group() or _checked(_of_launcher(env) or Rank(0, 1, "alone"))


def known_rank(env: Mapping[str, str] = os.environ) -> Rank:
    """The rank of a process group, or the launcher's, or 0 of 1: at the first use, when a group has to be
    there where there will be one."""
    found, world = find_rank(None, None, None, env), env.get("WORLD_SIZE", "1")
    if "RANK" not in env and world not in ("1", str(found.world)) and _of_group() is None:
        raise DefinitionError(
            f"rank: WORLD_SIZE={world} says that there are several ranks, and nothing says which "
            "one this is: there is no RANK, and no process group yet (LOCAL_RANK counts on one host alone). "
            "Use the feed after torch.distributed.init_process_group(), or give rank and world"
        )
    return found


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


def _of_group() -> Optional[Rank]:
    return _of_torch() or _of_jax()


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
