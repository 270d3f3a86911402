"""Trains a small CNN in JAX. Stopped anywhere, it goes on where it was, with the very same loss curve.

    npm run wheel && pip install python/dist/millrace_feed-*.whl jax
    python examples/jax_train.py --fresh              trains for 200 steps, keeping jax_train.npz
    python examples/jax_train.py --fresh --stop 90    is stopped after 90, as if it had been killed …
    python examples/jax_train.py                      … and goes on from the last checkpoint

It needs no data: the pictures are synthetic, and the task is to tell which quarter of one is the brightest.
Weights, momentum and the state of the feed are saved together, so that they always agree.
"""

import argparse
import json
import os

import jax
import jax.numpy as jnp
import numpy as np

import millrace

SIDE = 32
CHANNELS = (3, 16, 32, 32)
RATE, MOMENTUM = 0.05, 0.9


def new_weights(key):
    """Three convolutions, each of which halves the picture's side, and a layer on top."""
    weights, size = {}, CHANNELS[-1] * (SIDE // 8) ** 2
    for i, (before, after) in enumerate(zip(CHANNELS, CHANNELS[1:])):
        key, part = jax.random.split(key)
        weights[f"conv{i}"] = jax.random.normal(part, (after, before, 3, 3)) * (2 / (9 * before)) ** 0.5
        weights[f"bias{i}"] = jnp.zeros((after, 1, 1))
    return {**weights, "decide": jax.random.normal(key, (size, 4)) * size**-0.5}


def predict(weights, image):
    x = image
    for i in range(len(CHANNELS) - 1):
        x = jax.lax.conv(x, weights[f"conv{i}"], window_strides=(2, 2), padding="SAME")
        x = jax.nn.relu(x + weights[f"bias{i}"])
    return x.reshape(len(x), -1) @ weights["decide"]


def brightest_quarter(image):
    """The answer: 0 top left, 1 top right, 2 bottom left, 3 bottom right."""
    half = SIDE // 2
    return image.reshape(-1, 3, 2, half, 2, half).mean((1, 3, 5)).reshape(-1, 4).argmax(1)


def loss_of(weights, image):
    said = jax.nn.log_softmax(predict(weights, image))
    return -jnp.take_along_axis(said, brightest_quarter(image)[:, None], axis=1).mean()


@jax.jit
def update(weights, speed, image):
    """One step of gradient descent with momentum."""
    loss, slope = jax.value_and_grad(loss_of)(weights, image)
    speed = jax.tree.map(lambda v, g: MOMENTUM * v + g, speed, slope)
    return jax.tree.map(lambda w, v: w - RATE * v, weights, speed), speed, loss


def pictures(batch):
    return (
        millrace.synthetic(2000, images=dict(width=64, height=64))
        .shuffle(seed=7)
        .fields(image=millrace.image("jpg").random_resized_crop(SIDE).flip().normalize("half"))
        .batch(batch)
    )


def save(path, step, weights, speed, state):
    """By rename: a kill in the middle leaves the old checkpoint whole."""
    arrays = {f"w.{name}": array for name, array in weights.items()}
    arrays.update({f"v.{name}": array for name, array in speed.items()})
    with open(f"{path}.new", "wb") as file:
        np.savez(file, about=json.dumps({"step": step, "feed": state}), **arrays)
    os.replace(f"{path}.new", path)


def load(path):
    with np.load(path) as saved:
        about = json.loads(str(saved["about"]))
        weights = {name[2:]: jnp.array(saved[name]) for name in saved.files if name.startswith("w.")}
        speed = {name: jnp.array(saved[f"v.{name}"]) for name in weights}
    return about["step"], weights, speed, about["feed"]


def train(args):
    if os.path.exists(args.checkpoint) and not args.fresh:
        step, weights, speed, state = load(args.checkpoint)
        print(f"going on after step {step}")
    else:
        step, weights, state = 0, new_weights(jax.random.key(0)), None
        speed = jax.tree.map(jnp.zeros_like, weights)

    last = min(args.steps, args.stop)
    if step >= last:
        return print("done already: --fresh begins again")
    # One loop over as many epochs as the steps need.
    with pictures(args.batch).open(state=state, steps=last - step) as feed:
        for batch in feed.jax():
            weights, speed, loss = update(weights, speed, batch["image"])
            step += 1
            print(f"step {step} loss {float(loss)}")
            if step % args.save_every == 0 or step == args.steps:
                save(args.checkpoint, step, weights, speed, feed.state_dict())
    print("done" if step == args.steps else "stopped: run it again to go on")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Trains a small CNN, and goes on where it was stopped.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--stop", type=int, default=10**9, help="stop after this step, as if killed")
    parser.add_argument("--save-every", type=int, default=20, help="steps between two checkpoints")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--checkpoint", default="jax_train.npz")
    parser.add_argument("--fresh", action="store_true", help="begin again")
    train(parser.parse_args())
