"""Trains a small CNN in PyTorch. Stopped anywhere, it goes on where it was, with the very same loss curve.

    npm run wheel && pip install python/dist/millrace_feed-*.whl torch
    python examples/torch_train.py --fresh              trains for 200 steps, keeping torch_train.pt
    python examples/torch_train.py --fresh --stop 90    is stopped after 90, as if it had been killed …
    python examples/torch_train.py                      … and goes on from the last checkpoint

It needs no data: the pictures are synthetic, and the task is to tell which quarter of one is the brightest.
Weights, optimiser and the state of the feed are saved together, so that they always agree.
"""

import argparse
import os

import torch
from torch import nn

import millrace

SIDE = 32


class Net(nn.Module):
    """Three convolutions, each of which halves the picture's side, and a layer on top."""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(
            *(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU()),
            *(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU()),
            *(nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU()),
        )
        self.decide = nn.Linear(32 * (SIDE // 8) ** 2, 4)

    def forward(self, image):
        return self.decide(self.look(image).flatten(1))


def brightest_quarter(image):
    """The answer: 0 top left, 1 top right, 2 bottom left, 3 bottom right."""
    return nn.functional.adaptive_avg_pool2d(image.mean(1, keepdim=True), 2).flatten(1).argmax(1)


def pictures(batch):
    return (
        millrace.synthetic(2000, images=dict(width=64, height=64))
        .shuffle(seed=7)
        .fields(image=millrace.image("jpg").random_resized_crop(SIDE).flip().normalize("half"))
        .batch(batch)
    )


def save(path, **parts):
    """By rename: a kill in the middle leaves the old checkpoint whole."""
    torch.save(parts, f"{path}.new")
    os.replace(f"{path}.new", path)


def train(args):
    torch.manual_seed(0)
    if args.device == "cpu":
        torch.set_num_threads(1)  # sums of several threads may differ in their last bits
    net = Net().to(args.device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    step, state = 0, None
    if os.path.exists(args.checkpoint) and not args.fresh:
        saved = torch.load(args.checkpoint, map_location=args.device)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        step, state = saved["step"], saved["feed"]
        print(f"going on after step {step}")

    last = min(args.steps, args.stop)
    if step >= last:
        return print("done already: --fresh begins again")
    # One loop over as many epochs as the steps need.
    with pictures(args.batch).open(state=state, steps=last - step) as feed:
        for batch in feed.torch(device=args.device):
            image = batch["image"]
            loss = nn.functional.cross_entropy(net(image), brightest_quarter(image))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            print(f"step {step} loss {loss.item()}")
            if step % args.save_every == 0 or step == args.steps:
                save(
                    args.checkpoint,
                    step=step,
                    net=net.state_dict(),
                    optimizer=optimizer.state_dict(),
                    feed=feed.state_dict(),
                )
    print("done" if step == args.steps else "stopped: run it again to go on")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Trains a small CNN, and goes on where it was stopped.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--stop", type=int, default=10**9, help="stop after this step, as if killed")
    parser.add_argument("--save-every", type=int, default=20, help="steps between two checkpoints")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--checkpoint", default="torch_train.pt")
    parser.add_argument("--fresh", action="store_true", help="begin again")
    train(parser.parse_args())
