"""Plugins: modules that the engine loads for a feed, by their URLs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import List, Sequence

from ..errors import DefinitionError


def plugin_urls(plugins: "Sequence[str | os.PathLike[str]]") -> List[str]:
    """Their file URLs. Relative paths are relative to the working directory of this process, which need not
    be the engine's."""
    if isinstance(plugins, (str, os.PathLike)):
        raise DefinitionError(f"plugins is a list: plugins=[{str(plugins)!r}]")
    return [_url(os.fspath(plugin)) for plugin in plugins]


def _url(plugin: str) -> str:
    if plugin.startswith("file:"):
        return plugin
    return Path(os.path.abspath(os.path.expanduser(plugin))).as_uri()
