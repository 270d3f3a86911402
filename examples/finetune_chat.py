"""Fine-tunes a tiny GPT on conversations that are packed into rows, each of which attends to itself alone.

    npm run wheel && pip install python/dist/millrace_feed-*.whl torch
    python examples/finetune_chat.py                         made-up conversations, on the CPU
    python examples/finetune_chat.py --data chat.jsonl --tokenizer FOLDER --length 2048

FOLDER is that of a model of Hugging Face: its tokenizer.json, and its chat template. Only what the assistant wrote is
a target. `cuSeqlens` has the borders of all conversations of a batch, as flash-attention's varlen functions take them;
on the CPU they become a mask. The first lines show that the loss of a packed row is that of its conversations alone.
"""

import argparse
import json
import random
from pathlib import Path

import torch
from torch import nn

import millrace

TEMPLATE = (
    "{% for message in messages %}"
    "{{ message.role }}: {% if message.role == 'assistant' %}"
    "{% generation %}{{ message.content }}<|endoftext|>{% endgeneration %}"
    "{% else %}{{ message.content }}\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.look, self.merge = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.think = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, mask):
        count, width = x.shape
        parts = self.look(self.before(x)).view(count, 3, self.heads, width // self.heads).permute(1, 2, 0, 3)
        seen = nn.functional.scaled_dot_product_attention(*parts, attn_mask=mask)
        x = x + self.merge(seen.transpose(0, 1).reshape(count, width))
        return x + self.think(self.between(x))


class Gpt(nn.Module):
    def __init__(self, vocabulary, length, width=64, heads=4, layers=2):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.say = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens, positions, borders):
        """All rows of a batch, one after the other. `borders` are those of the conversations in it."""
        x = self.words(tokens) + self.places(positions)
        # Which conversation a token belongs to; it sees those before it in the same one.
        of = torch.bucketize(torch.arange(len(tokens)), borders[1:], right=True)
        mask = (of[:, None] == of[None, :]).tril()
        for block in self.blocks:
            x = block(x, mask)
        return self.say(self.norm(x))


def write_conversations(folder):
    """Sums to be learnt, as conversations of one or two questions."""
    draw = random.Random(5)
    with open(folder / "chat.jsonl", "w", encoding="utf-8") as file:
        for _ in range(600):
            messages = []
            for _ in range(draw.choice([1, 2])):
                a, b = draw.randrange(5), draw.randrange(5)
                messages.append({"role": "user", "content": f"What is {a} and {b}?"})
                messages.append({"role": "assistant", "content": f"It is {a + b}."})
            file.write(json.dumps({"messages": messages}) + "\n")
    (folder / "chat.jinja").write_text(TEMPLATE, encoding="utf-8")


def conversations(args):
    folder = Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    if args.data is None:
        write_conversations(folder)
    own = args.data is None or args.tokenizer == "millrace-4k"
    return (
        millrace.chat(
            millrace.jsonl(str(Path(args.data or folder / "chat.jsonl").resolve())),
            tokenizer=args.tokenizer,
            template=str((folder / "chat.jinja").resolve()) if own else None,
            length=args.length,
        )
        .shuffle(seed=7)
        .fields(["input", "target", "positionIds", "cuSeqlens"])
        .batch(args.batch)
    )


def train(args):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = Gpt(args.vocabulary, args.length)
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)

    def loss_of(tokens, target, positions, borders):
        said = net(tokens, positions, borders)
        return nn.functional.cross_entropy(said, target, ignore_index=-100, reduction="sum")

    with conversations(args).open(steps=args.steps) as feed:
        for step, batch in enumerate(feed.torch(), start=1):
            tokens, target = batch["input"].flatten(), batch["target"].flatten()
            positions, borders = batch["positionIds"].flatten(), batch["cuSeqlens"]
            if step == 1:
                with torch.no_grad():
                    packed = loss_of(tokens, target, positions, borders)
                    ends = borders.unique().tolist()
                    alone = sum(
                        loss_of(tokens[a:b], target[a:b], torch.arange(b - a), torch.tensor([0, b - a]))
                        for a, b in zip(ends, ends[1:])
                    )
                trained = (target != -100).float().mean().item()
                print(
                    f"{len(ends) - 1} stretches in {args.batch} rows, {trained:.0%} of the places trained on"
                )
                print(f"packed {packed:.3f} alone {alone:.3f}")
            loss = loss_of(tokens, target, positions, borders) / (target != -100).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"step {step} loss {loss.item()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fine-tunes a tiny GPT on packed conversations.")
    parser.add_argument("--data", help="JSON lines with messages; without it, they are made up")
    parser.add_argument("--tokenizer", default="millrace-4k", help="a model's folder")
    parser.add_argument("--vocabulary", type=int, default=4096, help="tokens that the tokenizer has")
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--folder", default="finetune_chat", help="where made-up conversations are written")
    train(parser.parse_args())
