"""The ``open`` request that a feed's options make, as the engine wants to hear it (docs/protocol.md)."""

from __future__ import annotations

import hashlib
import json
import os
import time
from typing import Any, Dict, Mapping, Optional

from .._data.payload import command, without_payloads
from .._generated.options import CHOICES, ENGINE_NAMES
from ..errors import DefinitionError
from .ranks import find_sequence
from .trainer import trainer_facts

#: What a timeout of float("inf") comes to (seconds): JSON has no inf.
FOREVER = 1e9
#: The folder of run logs of all feeds that don't say another.
LOG = "MILLRACE_LOG"


def options_of(given: Mapping[str, Any]) -> Dict[str, Any]:
    """The engine's options, by its names, of all that was given. What is None is left to the engine."""
    for name, words in CHOICES.items():
        if given[name] is not None and given[name] not in words:
            raise DefinitionError(f"{name}: expected one of {', '.join(words)}, not {given[name]!r}")
    options = {ENGINE_NAMES[name]: value for name, value in given.items() if name in ENGINE_NAMES}
    affinity, timeout = options["affinity"], options["timeout"]
    if affinity is not None and not isinstance(affinity, str):
        options["affinity"] = list(affinity)
    if isinstance(timeout, (int, float)):
        options["timeout"] = min(timeout, FOREVER)
    options["sequence"] = find_sequence(options["sequence"])
    # Until a view says where it wants its batches: only what can't be made by the CPU is left to a GPU.
    options["decode"] = "auto"
    log = options.pop("log")
    wanted = {name: value for name, value in options.items() if value is not None}
    return wanted if log is None and not os.environ.get(LOG) else {**wanted, "log": _log_of(log)}


def _log_of(log: "str | os.PathLike[str] | bool | None") -> Optional[Dict[str, Any]]:
    """The folder of run logs, and since when: where the feed is opened again, the same log goes on."""
    if log is False:
        return None
    folder = os.environ.get(LOG) if log is None else log
    if not isinstance(folder, (str, os.PathLike)) or not os.fspath(folder):
        raise DefinitionError(f"log: expected a folder, or False for none, not {log!r}")
    path = os.path.abspath(os.path.expanduser(os.fspath(folder)))
    return {"folder": path, "since": int(time.time() * 1000)}


def request_of(asked: Mapping[str, Any], options: Mapping[str, Any], members: int) -> Dict[str, Any]:
    """The whole request. ``asked`` says which feed; ``members`` processes share the batches of the rank."""
    request: Dict[str, Any] = {**asked, "options": dict(options)}
    if members > 1:
        request["share"] = {"name": _shared_name(request), "members": members}
    request["python"] = command()
    request["trainer"] = trainer_facts()
    return request


def _shared_name(request: Mapping[str, Any]) -> str:
    """A name that is the same in all processes that ask for the same."""
    same = {key: value for key, value in request.items() if key != "allowCode"}
    # Each process has opened it at a moment of its own.
    same["options"] = {key: value for key, value in request["options"].items() if key != "log"}
    text = json.dumps(without_payloads(same), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
