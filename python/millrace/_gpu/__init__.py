"""Work on the GPU, in the trainer's process, through ctypes alone: decoding, augmenting, copying.

``stage.open_stage`` is the door; the files, from the outside in: stage, making, ticket, fields, picture,
compressed, generate, slot, plan, keyed, tools, unpacker, areas, memory, arrays, dlpack, events, nvjpeg,
nvcomp, kernels, nvrtc, driver, bindings, libraries.
"""
