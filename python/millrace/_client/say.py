"""What a person is told while a feed runs."""

from __future__ import annotations

import logging
import sys

from ..errors import printable

log = logging.getLogger("millrace")


def say(line: str) -> None:
    """Logs a line; where logging is not set up, it goes to stderr."""
    line = printable(line)
    if log.isEnabledFor(logging.INFO) and log.hasHandlers():
        log.info("%s", line)
    elif not log.hasHandlers() and log.level == logging.NOTSET:
        print(f"millrace: {line}", file=sys.stderr)
