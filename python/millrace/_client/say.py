"""What a person is told while a feed runs."""

from __future__ import annotations

import logging
import sys

log = logging.getLogger("millrace")


def say(line: str) -> None:
    """Logs a line; where logging is not set up, it goes to stderr."""
    if log.isEnabledFor(logging.INFO) and log.hasHandlers():
        log.info("%s", line)
    elif not log.hasHandlers() and log.level == logging.NOTSET:
        print(f"millrace: {line}", file=sys.stderr)
