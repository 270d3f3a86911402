"""Trains a small GPT on the same train.bin as nanoGPT. Stopped anywhere, it goes on with the very same loss curve.

    npm run wheel && pip install python/dist/millrace_feed-*.whl torch
    python examples/gpt_train.py --fresh                  on bytes of this repository's guides, 200 steps
    python examples/gpt_train.py --fresh --stop 90        is stopped after 90, as if it had been killed …
    python examples/gpt_train.py                          … and goes on from the last checkpoint
    python examples/gpt_train.py --data data/openwebtext/train.bin --vocabulary 50304 --layers 12 --heads 12 --width 768

nanoGPT draws rows at random places of the file, so that some tokens come often and some never. Here each token of an epoch is
a target once, in a shuffled order, and cuts move from epoch to epoch. A checkpoint has the weights, the optimiser
and the state of the feed: they always agree.
"""

import argparse
import glob
import os

import numpy as np
import torch
from torch import nn

import millrace

GUIDES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "*.md")


def guides(path):
    """A file like nanoGPT's: u16 without a header. Tokens are bytes, and 256 stands behind each page."""
    pages = []
    for name in sorted(glob.glob(GUIDES)):
        with open(name, "rb") as file:
            pages.append(np.frombuffer(file.read(), np.uint8).astype(np.uint16))
            pages.append(np.array([256], np.uint16))
    np.concatenate(pages).tofile(f"{path}.new")
    os.replace(f"{path}.new", path)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.think = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norms[0](x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.think(self.norms[1](x))


class Gpt(nn.Module):
    def __init__(self, vocabulary, length, layers, heads, width):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        for layer in self.modules():
            if isinstance(layer, (nn.Linear, nn.Embedding)):
                nn.init.normal_(layer.weight, std=0.02)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.tokens(tokens) + self.places(places))))


def rows(args):
    return millrace.tokens(args.data, length=args.length, dtype="u16").shuffle(seed=7).batch(args.batch)


def save(path, **parts):
    """By rename: a kill in the middle leaves the old checkpoint whole."""
    torch.save(parts, f"{path}.new")
    os.replace(f"{path}.new", path)


def train(args):
    torch.manual_seed(0)
    if args.device == "cpu":
        torch.set_num_threads(1)  # sums of several threads may differ in their last bits
    if args.data is None:
        args.data = "guides.bin"
        if not os.path.exists(args.data) or args.fresh:
            guides(args.data)
    net = Gpt(args.vocabulary, args.length, args.layers, args.heads, args.width).to(args.device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.rate, betas=(0.9, 0.95), weight_decay=0.1)
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
    with rows(args).open(state=state, steps=last - step) as feed:
        for batch in feed.torch(device=args.device):
            guess = net(batch["input"])
            loss = nn.functional.cross_entropy(guess.flatten(0, 1), batch["target"].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
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
    parser = argparse.ArgumentParser(description="Trains a small GPT, and goes on where it was stopped.")
    parser.add_argument("--data", help="a file of u16 tokens without a header; by default bytes of the guides")
    parser.add_argument("--vocabulary", type=int, default=257)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--stop", type=int, default=10**9, help="stop after this step, as if killed")
    parser.add_argument("--save-every", type=int, default=20, help="steps between two checkpoints")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--checkpoint", default="gpt_train.pt")
    parser.add_argument("--fresh", action="store_true", help="begin again")
    train(parser.parse_args())
