"""A job of several ranks under torch.distributed (gloo), and another one that goes on where it stopped.

`gloo_ranks.py FEED RUNS` prints a line of JSON for each run: what every rank saw. Ranks are forks of this
process, so that PyTorch is imported once.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch.distributed as dist

import millrace
from millrace.feed import run_of


def rank_of_run(rank: int, port: int, run: Dict[str, Any], feed: Any, state: Optional[Dict[str, Any]]) -> Any:
    os.environ.update(
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(run["world"])
    )
    dist.init_process_group("gloo")
    opened = millrace.Feed(feed, workers=1, state=state)
    assert opened.rank_source == "torch.distributed", opened.rank_source
    ids: List[str] = []
    for step, batch in enumerate(opened.torch(), 1):
        ids += batch.ids
        dist.barrier()
        if step == run.get("kill") and rank == 0:
            os.kill(run_of(opened).stream.client.engine.pid, signal.SIGKILL)
        if step == run["stop"]:
            break
    told = {"ids": ids, "state": opened.state_dict(), "engine": run_of(opened).stream.client.engine.pid}
    told["restarts"] = opened.stats()["restarts"]
    dist.barrier()
    opened.close()
    dist.destroy_process_group()
    return told


def start(run: Dict[str, Any], feed: Any, state: Optional[Dict[str, Any]]) -> List[Any]:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    pipes = []
    for rank in range(run["world"]):
        reading, writing = os.pipe()
        if os.fork() == 0:
            try:
                os.close(reading)
                told = json.dumps(rank_of_run(rank, port, run, feed, state)).encode()
                while told:
                    told = told[os.write(writing, told) :]
                os._exit(0)
            finally:
                os._exit(1)
        os.close(writing)
        pipes.append(reading)
    results = []
    for reading in pipes:
        with open(reading, "rb") as pipe:
            results.append(json.loads(pipe.read()))
    for _ in pipes:
        os.wait()
    return results


def main() -> None:
    feed, runs = json.loads(sys.argv[1]), json.loads(sys.argv[2])
    state = None
    for run in runs:
        results = start(run, feed, state)
        state = results[0]["state"]
        print(json.dumps(results), flush=True)


if __name__ == "__main__":
    main()
