"""NVIDIA's libraries, through ctypes alone: the driver, NVRTC, nvJPEG, nvCOMP, and memory of the device.

From the top down: kernels, memory, arrays, dlpack, events, nvjpeg, nvcomp, nvrtc, driver, bindings,
libraries; and queues, which is asked for before CUDA is first used.
"""
