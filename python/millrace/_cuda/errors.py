"""What CUDA, NVRTC or nvJPEG refuse: by the name that their manuals use, with what can be done about it."""

from __future__ import annotations

from .._generated.advice import ADVICE
from ..errors import MillraceError


class CudaError(MillraceError, RuntimeError):
    """A call that CUDA, NVRTC or nvJPEG refused. ``name`` is the error's own name, ``call`` the function."""

    def __init__(self, name: str, call: str, detail: str = "") -> None:
        self.name = name
        self.call = call
        message = f"{call}: {name}"
        if detail:
            message += f" ({detail})"
        advice = ADVICE.get(name)
        if advice:
            message += f": {advice}"
        super().__init__(message)
