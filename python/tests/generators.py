"""What an engine tells of a generator, for tests."""

from __future__ import annotations

from typing import Any, Dict


def told(**change: Any) -> Dict[str, Any]:
    fields = [
        {"name": "image", "field": "picture", "dtype": "f32", "dlpack": [2, 32, 1], "shape": [3, 4]},
        {"name": "spare", "field": None, "dtype": "u8", "dlpack": [1, 8, 1], "shape": [5]},
        {"name": "label", "field": "label", "dtype": "i64", "dlpack": [0, 64, 1], "shape": []},
    ]
    return {
        "kind": "kernel", "file": "/data/gen.cu", "source": "…", "headers": {"random.cuh": "the user's"},
        "entry": "draw", "threads": 300, "seed": 2**40 + 1, "fields": fields, **change,
    }  # fmt: skip
