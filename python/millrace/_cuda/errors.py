"""What CUDA, NVRTC or nvJPEG refuse: by the name that their manuals use, with what can be done about it."""

from __future__ import annotations

from ..errors import MillraceError

_FULL = "the GPU's memory is full: a smaller batch or prefetch, or decode='cpu', needs less of it"
_STALE = "a compiled kernel doesn't suit: remove the folder kernels of the cache (~/.cache/millrace)"

#: What to do about an error, by its name. Errors that are not here speak for themselves, or are ours.
ADVICE = {
    "CUDA_ERROR_OUT_OF_MEMORY": _FULL,
    "CUDA_ERROR_NO_DEVICE": "no GPU is visible here: check nvidia-smi and CUDA_VISIBLE_DEVICES",
    "CUDA_ERROR_INVALID_DEVICE": "there is no GPU of that number: check nvidia-smi and CUDA_VISIBLE_DEVICES",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "the driver's libraries and its kernel module differ: restart the "
    "machine or the container",
    "CUDA_ERROR_SYSTEM_NOT_READY": "the fabric manager is not running: systemctl start nvidia-fabricmanager",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "the driver is older than NVRTC: update the driver, or install an "
    "nvidia-cuda-nvrtc of the driver's version",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": _STALE,
    "CUDA_ERROR_INVALID_IMAGE": _STALE,
    "CUDA_ERROR_ILLEGAL_ADDRESS": "a kernel read or wrote where it must not, and the GPU is lost to us. If "
    "it happens with decode='cpu' as well it is the trainer's, otherwise please report it",
    "CUDA_ERROR_MPS_CONNECTION_FAILED": "the MPS server does not answer: restart it, or unset "
    "CUDA_MPS_PIPE_DIRECTORY",
    "NVJPEG_STATUS_ARCH_MISMATCH": "this GPU has no JPEG engine that nvJPEG knows: use decode='cpu'",
    "NVJPEG_STATUS_ALLOCATOR_FAILURE": _FULL,
    "NVJPEG_STATUS_EXECUTION_FAILED": "an earlier error may have broken the GPU's context; try decode='cpu'",
}


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
