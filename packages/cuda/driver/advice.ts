/**
 * What a user can do about errors of NVIDIA's libraries, by their names. Errors that are not here speak for themselves, or
 * are ours. Python's copy (python/millrace/_generated/) is generated from this file: npm run generate.
 */

/** What to do about an error, by its name. */
export const ADVICE: Readonly<Record<string, string>> = {
  CUDA_ERROR_OUT_OF_MEMORY:
    'the GPU has no memory left; lower the batch size or the number of batches ahead, decode on the CPU, or see with nvidia-smi who else uses it',
  CUDA_ERROR_NO_DEVICE:
    'no GPU is visible; look at nvidia-smi and at CUDA_VISIBLE_DEVICES, in a container start it with --gpus all',
  CUDA_ERROR_INVALID_DEVICE:
    'there is no GPU of that number; nvidia-smi -L lists them, counted from 0; look at CUDA_VISIBLE_DEVICES, too',
  CUDA_ERROR_NOT_INITIALIZED:
    'the driver is going down or the process was forked after CUDA began; start processes before',
  CUDA_ERROR_DEINITIALIZED: 'the process is ending; close the loader before',
  CUDA_ERROR_STUB_LIBRARY: "that libcuda is the toolkit's stub; take its folder off LD_LIBRARY_PATH",
  CUDA_ERROR_DEVICE_UNAVAILABLE: 'another process has the GPU for itself (compute mode); see nvidia-smi -q',
  CUDA_ERROR_INVALID_CONTEXT:
    'no CUDA context is current in this thread, or the primary one was reset; do not call cudaDeviceReset while a feed is open',
  CUDA_ERROR_CONTEXT_IS_DESTROYED:
    'the primary context was reset; do not call cudaDeviceReset while a feed is open',
  CUDA_ERROR_INVALID_IMAGE:
    'the compiled kernel is damaged; delete the folder "kernels" in the cache folder (~/.cache/millrace)',
  CUDA_ERROR_NO_BINARY_FOR_GPU:
    'the kernel was compiled for another GPU; delete the folder "kernels" in the cache folder (~/.cache/millrace)',
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    "NVRTC is newer than the driver; update the driver, or install an nvidia-cuda-nvrtc of the driver's version",
  CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    "libcuda and the kernel module are of different versions; reboot after the driver's update, or rebuild the container",
  CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
    'the compatibility libcuda does not work on this GPU; take /usr/local/cuda/compat off LD_LIBRARY_PATH',
  CUDA_ERROR_SYSTEM_NOT_READY:
    "the driver's services are not up; with NVSwitch: systemctl start nvidia-fabricmanager",
  CUDA_ERROR_OPERATING_SYSTEM: 'the system refused; for page-locked memory raise `ulimit -l`',
  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
    'this memory is page-locked already, by another part of the program',
  CUDA_ERROR_ILLEGAL_ADDRESS:
    "a kernel touched memory that is not its own, and the context is lost; if the kernel is yours, run it under compute-sanitizer; if the same happens while the CPU decodes it is the trainer's, otherwise please report it",
  CUDA_ERROR_LAUNCH_FAILED:
    'a kernel crashed, and the context is lost; if the kernel is yours, run it under compute-sanitizer',
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    'the kernel needs more registers or shared memory than a block of that size has; use fewer threads',
  CUDA_ERROR_ECC_UNCORRECTABLE: "the GPU's memory is faulty; see nvidia-smi -q -d ECC",
  CUDA_ERROR_NOT_FOUND: 'there is no kernel of that name; kernels must be declared extern "C" __global__',
  CUDA_ERROR_MPS_CONNECTION_FAILED:
    'the MPS server does not answer; restart it, or unset CUDA_MPS_PIPE_DIRECTORY',
  NVJPEG_STATUS_INVALID_PARAMETER:
    'this nvJPEG is too old for interpolated chroma; install nvJPEG 12.1 or later',
  NVJPEG_STATUS_ALLOCATOR_FAILURE:
    'the GPU has no memory left; lower the batch size or the number of batches ahead, decode on the CPU, or see with nvidia-smi who else uses it',
  NVJPEG_STATUS_ARCH_MISMATCH:
    'this GPU lacks the engine that was asked for, or nvJPEG does not know the GPU; decode on the CPU',
  NVJPEG_STATUS_EXECUTION_FAILED:
    "the GPU refused nvJPEG's work, or an earlier error broke its context; see nvidia-smi for errors and dmesg for Xid, or decode on the CPU",
  NVJPEG_STATUS_NOT_INITIALIZED:
    'nvJPEG could not use the GPU; driver and nvJPEG must be of the same CUDA major version',
  NVRTC_ERROR_INVALID_OPTION: "this NVRTC does not know the GPU's architecture; install a newer one",
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE:
    'libnvrtc-builtins was not found beside libnvrtc; install NVRTC as a whole',
  NVRTC_ERROR_OUT_OF_MEMORY: 'no memory left for the compiler',
}
