"""Work on the GPU, in the trainer's process, through ctypes alone: decoding, augmenting, copying.

``stage.open_stage`` is the door; the files, from the outside in: stage, picture, plan, tools, areas, memory,
arrays, dlpack, events, nvjpeg, kernels, nvrtc, driver, bindings, libraries.
"""
