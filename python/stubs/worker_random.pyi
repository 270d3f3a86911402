# For mypy alone: the name under which worker.py, which is run as a file, imports its neighbour.
from millrace._data.worker_random import *  # noqa: F403
