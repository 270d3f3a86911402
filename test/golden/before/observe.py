"""What the Python client gives: asked by observe.mjs, which names a file {"feeds", "states", "resumed"}.

Prints, as JSON, for each feed what observe.mjs has of it, for each state the state, and the ids that follow
after saved ones.
"""

import hashlib
import json
import sys

import numpy as np

import millrace


def opened(path, **options):
    return millrace.Feed(path, workers=1, **options)


def delivered(path):
    ids, fields, steps, samples = hashlib.sha256(), {}, 0, 0
    with opened(path) as feed:
        for _ in range(2):
            for batch in feed:
                steps += 1
                samples += batch.count
                ids.update(compact([batch.epoch, batch.position, batch.ids]))
                for name, value in batch.items():
                    if name != "valid":
                        digest(value, fields.setdefault(name, hashlib.sha256()))
        state = feed.state_dict()
    return {
        "hashes": {name: state[name] for name in ("order", "content")},
        "steps": steps,
        "samples": samples,
        "ids": ids.hexdigest()[:32],
        "fields": {name: one.hexdigest()[:32] for name, one in fields.items()},
    }


def digest(value, hash):
    if isinstance(value, list):
        hash.update(compact([len("".join(value).encode())]))
        hash.update(compact(value))
    elif isinstance(value, millrace.Ragged):
        hash.update(compact(value.values.shape))
        hash.update(value.values.tobytes())
        hash.update(value.offsets.tobytes())
    else:
        hash.update(compact(value.shape))
        hash.update(np.ascontiguousarray(value).tobytes())


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def saved(feed, steps, weights=None, rank=None, world=None, **_):
    with opened(feed, epochs=None, rank=rank, world=world) as loader:
        for step, _batch in enumerate(loader, 1):
            if weights and str(step) in weights:
                loader.set_weights(weights[str(step)])
            if step == steps:
                return loader.state_dict()


def resumed(feed, state):
    with open(state) as file:
        loaded = json.load(file)
    with opened(feed, epochs=2) as loader:
        loader.load_state_dict(loaded)
        return [f"{batch.epoch}:{batch.position} {' '.join(batch.ids)}" for batch in loader]


def main():
    with open(sys.argv[1]) as file:
        asked = json.load(file)
    json.dump(
        {
            "feeds": {name: delivered(path) for name, path in asked["feeds"].items()},
            "states": {name: saved(**state) for name, state in asked["states"].items()},
            "resumed": {name: resumed(**one) for name, one in asked["resumed"].items()},
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
