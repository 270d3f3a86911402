"""A trainer for tests: loops until it is killed."""

import time

import millrace

FEED = {
    "source": {
        "synthetic": {"count": 1000, "tensors": {"shape": [64], "dtype": "f32"}}
    },
    "fields": {"data": {"from": "data", "as": "npy", "shape": [64], "dtype": "f32"}},
    "batch": {"size": 10},
}

with millrace.Feed(FEED, workers=1) as feed:
    while True:
        for number, _ in enumerate(feed):
            time.sleep(0.005)
            if number == 5:
                print("begun", flush=True)
