"""Functions of a user's in Python."""


def double(value, rng):
    return value * 2 + int(rng.integers(0, 2))


def change(sample, rng):
    return {**sample, "cls": sample["cls"] + 100 * int(rng.integers(0, 5))}
