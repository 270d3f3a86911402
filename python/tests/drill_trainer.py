"""A trainer as a user would write it: every id it was given into a log, and the state after every step.

    python drill_trainer.py FOLDER [--no-restart]

The log is cut to what the state covers when it begins. Ends with 7 when it is told of the engine's death.
"""

from __future__ import annotations

import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import millrace

SAMPLES = 320
TOLD = 7
FEED = {
    "source": {"synthetic": {"count": SAMPLES, "tensors": {"shape": [64], "dtype": "u32"}}},
    "order": {"shuffle": "global", "seed": 3},
    "fields": {"data": {"from": "data", "as": "bytes", "ragged": {"max": 256}}},
    "batch": {"size": 4, "last": "keep"},
}


def train(folder: str, restart: bool) -> None:
    path = os.path.join(folder, "state.json")
    saved = {"length": 0, "feed": None}
    if os.path.exists(path):
        with open(path) as file:
            saved = json.load(file)
    if saved["feed"] is not None and saved["feed"]["epoch"] > 0:
        return
    with open(os.path.join(folder, "ids.log"), "a") as log:
        log.truncate(saved["length"])

        def save(state: object) -> None:
            log.flush()
            with open(f"{path}.new", "w") as file:
                json.dump({"length": os.fstat(log.fileno()).st_size, "feed": state}, file)
            os.replace(f"{path}.new", path)

        with millrace.Feed(FEED, state=saved["feed"], restart=restart, workers=1) as feed:
            open(os.path.join(folder, "opened"), "w").close()
            for batch in feed:
                log.write("".join(f"{name}\n" for name in batch.ids))
                save(feed.state_dict())
                time.sleep(0.004)


if __name__ == "__main__":
    try:
        train(sys.argv[1], restart="--no-restart" not in sys.argv)
    except millrace.EngineDied as death:
        print(death, file=sys.stderr)
        sys.exit(TOLD)
