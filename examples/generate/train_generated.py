"""Trains a small CNN, or a ResNet, on pictures that a CUDA kernel of ours draws on the GPU (gen.cu).

    npm run wheel && pip install python/dist/millrace_feed-*.whl torch torchvision
    python examples/generate/train_generated.py
    python examples/generate/train_generated.py --model resnet18 --steps 500

There is no data: every epoch has a million new pictures, the same ones in every run, and nothing but their
positions goes over the bus. The task is to tell in which of ten directions a picture is striped.
"""

import argparse
import time
from pathlib import Path

import torch
from torch import nn

import millrace

FEED = str(Path(__file__).with_name("stripes.json"))
#: The feed is JSON that names a kernel: we know the file, and allow it (docs/troubleshoot.md).
OURS = {"allow_code": True}
CLASSES = 10


def small():
    """Four convolutions, each of which quarters the picture."""
    widths = (3, 16, 32, 64, 64)
    layers = [
        layer
        for before, after in zip(widths, widths[1:])
        for layer in (nn.Conv2d(before, after, 5, stride=2, padding=2), nn.BatchNorm2d(after), nn.ReLU())
    ]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], CLASSES))


def model_of(name):
    if name == "small":
        return small()
    import torchvision

    return getattr(torchvision.models, name)(num_classes=CLASSES)


def accuracy(model, device, steps):
    """On pictures that training never draws: the variant has another seed."""
    right = seen = 0
    model.eval()
    with torch.no_grad(), millrace.Feed(FEED, variant="val", steps=steps, **OURS) as feed:
        for batch in feed.torch(device=device):
            image = batch["image"].to(memory_format=torch.channels_last)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                right += (model(image).argmax(1) == batch["label"]).sum().item()
            seen += len(image)
    return right / seen


def train(args):
    if not torch.cuda.is_available():
        raise SystemExit("this example needs a GPU, which draws its pictures: PyTorch finds none")
    torch.manual_seed(0)
    model = model_of(args.model).to(args.device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.rate, momentum=0.9)
    begun, images = time.perf_counter(), 0
    with millrace.Feed(FEED, steps=args.steps, **OURS) as feed:
        for step, batch in enumerate(feed.torch(device=args.device), 1):
            image = batch["image"].to(memory_format=torch.channels_last)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(model(image), batch["label"])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            images += len(image)
            if step % args.every == 0 or step == args.steps:
                now = loss.item()  # waits for the GPU
                seconds = time.perf_counter() - begun
                print(f"step {step} loss {now:.4f}  {images / seconds:,.0f} img/s", flush=True)
                begun, images = time.perf_counter(), 0
    print(f"accuracy {accuracy(model, args.device, 20):.3f} (by chance {1 / CLASSES})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Trains on pictures that are drawn on the GPU.")
    parser.add_argument("--model", default="small", help="small, or one of torchvision: resnet18, resnet50")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--every", type=int, default=20, help="steps between two lines")
    parser.add_argument("--rate", type=float, default=0.05, help="learning rate")
    parser.add_argument("--device", default="cuda")
    train(parser.parse_args())
