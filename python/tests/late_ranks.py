"""Two ranks that open their feeds before torch.distributed (gloo) is initialised, as `mp.spawn` has it.

`late_ranks.py METHOD LOOKS FEED FOLDER` leaves a file for each rank: what it was before and after, and what
it saw. METHOD starts the processes (spawn, fork); LOOKS is how many first looks at a batch are taken.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch.distributed as dist
import torch.multiprocessing as mp

import millrace
from millrace.feed import run_of


def rank_of(rank: int, looks: int, feed: Any, folder: str) -> None:
    opened, late = millrace.Feed(feed, workers=1), millrace.Feed(feed, workers=1)

    def seat() -> Any:
        return [opened.rank, opened.world, opened.rank_source, run_of(opened).rows]

    told = {"before": seat()}
    for _ in range(looks):
        next(iter(opened))
    for batch, _ in zip(late, range(3)):
        del batch  # two of them count
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    told["steps"] = len(opened)
    told["after"] = seat()
    told["ids"] = [id for batch in opened.torch() for id in batch.ids]
    told["engine"] = run_of(opened).stream.client.engine.pid
    try:
        iter(late)
    except millrace.MillraceError as error:
        told["late"] = str(error)
    dist.barrier()
    opened.close(), late.close()
    dist.destroy_process_group()
    Path(folder, f"{rank}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    method, looks, feed, folder = sys.argv[1:]
    mp.start_processes(rank_of, (int(looks), json.loads(feed), folder), 2, start_method=method)
