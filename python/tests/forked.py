"""Work done in a forked child, for tests of what a fork leaves usable."""

from __future__ import annotations

import os

from patience import wait_until


def in_fork(work):
    """What a forked child's exit status is, when it does this; None when it does not end."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(7)
        finally:
            os._exit(1)
    status = []

    def ended():
        done, code = os.waitpid(child, os.WNOHANG)
        status.append(code)
        return done == child

    if wait_until(ended):
        return os.WEXITSTATUS(status[-1])
    os.kill(child, 9)
    os.waitpid(child, 0)
    return None
