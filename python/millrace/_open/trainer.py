"""What this process knows of its GPUs: an engine that binds its workers to cores keeps them near these."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Mapping, Optional

#: By these, launchers tell a process which of the host's it is: by custom it uses the GPU of that number.
LOCAL_RANKS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


def trainer_facts(env: Mapping[str, str] = os.environ) -> Dict[str, Any]:
    """The part of the ``open`` request about the client's process. What is not known is left out."""
    facts = {
        "visible": env.get("CUDA_VISIBLE_DEVICES"),
        "order": env.get("CUDA_DEVICE_ORDER"),
        "device": _device(env),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _device(env: Mapping[str, str]) -> Optional[int]:
    """The GPU that PyTorch uses here; or the one of the launcher's local rank."""
    # Only where the trainer itself has imported it, and has chosen a GPU: we must not wake one.
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        return int(cuda.current_device())
    found = next((env[name] for name in LOCAL_RANKS if name in env), "")
    return int(found) if found.isdigit() else None
