"""Millrace used from Node: the engine without the way to Python. A line of output is a batch."""

import json
import subprocess
from pathlib import Path

from feed import definition

TITLE = "Millrace (in Node)"
PACKAGES = ()
# Batches stay in Node: there is nothing that Python could check or touch.
IN_PYTHON = False


def variants(cores):
    return [{"workers": n} for n in sorted({1, cores})]


def prepare(data):
    """`millrace pack` wrote the shards that the pictures come from."""


def batches(data, workers):
    script = Path(__file__).with_suffix(".mjs")
    command = ["node", script, json.dumps(definition(data)), str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            while line := process.stdout.readline():
                yield line
        finally:
            process.terminate()
    raise RuntimeError(f"node ended with {process.returncode}")
