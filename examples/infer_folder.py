"""Says something about every picture of a folder, once. Killed at any time, it goes on exactly where it was.

    npm run wheel && pip install python/dist/millrace_feed-*.whl torch
    python examples/torch_train.py               makes the weights: torch_train.pt
    python examples/infer_folder.py photos       writes predictions.csv: id,prediction
    python examples/infer_folder.py photos       after Ctrl-C, kill -9 or a full disk: goes on from there

Rows are on disk before the state that counts them, and the state says how long the file was then. What a kill
leaves beyond that is cut off and made again: each picture has one row, and none is missing.
"""

import argparse
import csv
import json
import os

import torch
from torch_train import SIDE, Net

import millrace

QUARTERS = ("top left", "top right", "bottom left", "bottom right")


def pictures(folder, batch):
    """All pictures of a folder, at any depth, in the order of their paths; their ids are those paths."""
    return (
        millrace.files(*(os.path.join(folder, "**", f"*.{kind}") for kind in ("jpg", "jpeg", "png")))
        .sequential()
        .fields(image=millrace.image("file").resize(SIDE).center_crop(SIDE).normalize("half"))
        .batch(batch, last="keep")
    )


class Rows:
    """A CSV file and, beside it, the folder and the state of the feed that made its rows."""

    def __init__(self, path, folder):
        self._state_path = f"{path}.state"
        self._folder = os.path.abspath(folder)
        saved = {"length": 0, "feed": None, "folder": self._folder}
        if os.path.exists(self._state_path):
            with open(self._state_path) as file:
                saved = json.load(file)
        if saved["folder"] != self._folder:
            raise SystemExit(f"{path} is about {saved['folder']}: give another --out")
        self.state = saved["feed"]
        # After the last batch the state stands at the beginning of the next epoch.
        self.done = self.state is not None and self.state["epoch"] > 0
        self._file = open(path, "a", newline="")
        self._file.truncate(saved["length"])
        self._csv = csv.writer(self._file, lineterminator="\n")
        if saved["length"] == 0:
            self._csv.writerow(("id", "prediction"))

    def write(self, ids, predictions):
        self._csv.writerows(zip(ids, predictions))

    def save(self, state):
        """Rows first, then the state, by rename."""
        self._file.flush()
        os.fsync(self._file.fileno())
        length = os.fstat(self._file.fileno()).st_size
        with open(f"{self._state_path}.new", "w") as file:
            json.dump({"length": length, "feed": state, "folder": self._folder}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{self._state_path}.new", self._state_path)


@torch.inference_mode()
def infer(args):
    rows = Rows(args.out, args.folder)
    if rows.done:
        return print(f"{args.out} is complete: remove it and {args.out}.state to begin again")
    net = Net().to(args.device).eval()
    net.load_state_dict(torch.load(args.weights, map_location=args.device)["net"])
    with pictures(args.folder, args.batch).open(state=rows.state) as feed:
        for step, batch in enumerate(feed.torch(device=args.device), 1):
            said = net(batch["image"]).argmax(1).tolist()
            rows.write(batch.ids, (QUARTERS[one] for one in said))
            if step % args.save_every == 0:
                rows.save(feed.state_dict())
        rows.save(feed.state_dict())
    print(f"done: {args.out}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes a prediction for every picture of a folder.")
    parser.add_argument("folder")
    parser.add_argument("--weights", default="torch_train.pt")
    parser.add_argument("--out", default="predictions.csv")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--save-every", type=int, default=1, help="batches between two states")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    infer(parser.parse_args())
