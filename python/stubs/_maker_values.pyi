# For mypy alone: the name under which _maker.py, which is run as a file, imports its neighbour.
from millrace._maker_values import *  # noqa: F403
