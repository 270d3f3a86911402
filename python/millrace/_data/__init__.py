"""A user's own Python objects: how datasets and functions are sent to the engine's Python processes
(``payload``, ``functions``), and the program of such a process (``worker``, ``worker_dataset``,
``worker_random``, ``worker_values``), which runs outside of the package."""
