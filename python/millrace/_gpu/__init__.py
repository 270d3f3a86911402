"""The device stage: work on the GPU, in the trainer's process: decoding, augmenting, copying.

``stage.open_stage`` opens one. The files, from the top down: stage, making, ticket, fields, picture,
compressed, generate, slot, plan, keyed, tools, unpacker, areas.
"""
