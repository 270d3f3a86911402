"""A ``tf.data.Dataset`` over a feed: one epoch of tensors that TensorFlow copies from the slot."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, Optional, Sequence

from .._client.layout import Field
from ..batch import Batch, Ragged
from ..errors import MissingError


def dataset(epochs: Iterable[Batch], fields: Sequence[Field], names: Optional[Sequence[str]]) -> Any:
    """The dataset. Iterating it again gives the next epoch of ``epochs``."""
    try:
        import tensorflow as tf
    except ImportError as error:
        raise MissingError(
            "TensorFlow is not installed: pip install tensorflow, or use .numpy(), .torch() or .jax()"
        ) from error

    signature: Dict[str, Any] = {}
    for field in fields:
        dtype = tf.bfloat16 if field.kind == "bf16" else tf.as_dtype(field.dtype)
        if field.form == "text":
            signature[field.name] = tf.TensorSpec((None,), tf.string)
        elif field.form == "ragged":
            signature[field.name] = tf.RaggedTensorSpec((None, None, *field.shape), dtype, 1, tf.int32)
        elif field.form == "padded":
            signature[field.name] = tf.TensorSpec((None, None, *field.shape), dtype)
        else:
            shape = (None,) if field.flat else (None, *field.shape)
            signature[field.name] = tf.TensorSpec(shape, dtype)

    def value(batch: Batch, name: str) -> Any:
        one = batch[name]
        if isinstance(one, Ragged):
            return tf.RaggedTensor.from_row_splits(one.values, one.offsets, validate=False)
        return one

    wanted = tuple(signature) if names is None else tuple(names)

    def batches() -> Iterator[Any]:
        for batch in epochs:
            values = {name: value(batch, name) for name in wanted}
            yield values if names is None else tuple(values.values())

    shown: Any = {name: signature[name] for name in wanted}
    return tf.data.Dataset.from_generator(
        batches, output_signature=shown if names is None else tuple(shown.values())
    )
