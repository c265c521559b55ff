"""Which steps get masks: Keras carries those that Masking and Embedding compute from layer to layer.

Sources: `compute_mask` and `supports_masking` of keras/src/layers, and `Layer.__call__`. A layer that does not support
masks ends them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from sateen.frontends.keras.layers import Arguments
from sateen.frontends.keras.steps import ALIAS, STATES, UNFOLD, Step, Tensor, sequence_and_states
from sateen.frontends.keras.version import Version

MIXED = "several masks"
"""In place of a mask's name: masks that Keras would combine, which is not supported where they matter."""
_PASSING = {ALIAS, UNFOLD} | {
    "Activation", "ActivityRegularization", "AdditiveAttention", "AlphaDropout", "Attention", "BatchNormalization",
    "Dense", "Dropout", "ELU", "GaussianDropout", "GaussianNoise", "GroupNormalization", "GroupQueryAttention",
    "GroupedQueryAttention", "Identity", "LayerNormalization", "LeakyReLU", "Masking", "MultiHeadAttention",
    "Normalization", "PReLU", "ReLU", "Rescaling", "Softmax", "SpatialDropout1D", "SpatialDropout2D",
    "SpatialDropout3D", "ThresholdedReLU", "UnitNormalization",
}  # fmt: skip
"""Layers whose result has the mask of their first input."""
_MERGING = {"Add", "Average", "Concatenate", "Maximum", "Minimum", "Multiply", "Subtract"}


def mask_name(tensor: str) -> str:
    return f"{tensor}.mask"


def gives_mask(step: Step) -> bool:
    """Whether a step computes a mask, its result after the others."""
    return step.layer.kind == "Masking" or (step.layer.kind == "Embedding" and bool(step.layer.config.get("mask_zero")))


def with_masks(steps: Sequence[Step], version: Version) -> list[Step]:
    """The steps in order, each with the names of its inputs' masks.

    Keras 3 hands a layer no mask by itself if tensors are in two of its arguments, as the data and the initial states
    of a recurrent layer are; its result has the mask nevertheless.
    """
    masks: dict[str, str] = {}
    result = []
    for given_step in steps:
        step, explicit = _without_mask(given_step)
        own = tuple(masks.get(name, "") for name in step.inputs)
        own = tuple(given or usual for given, usual in zip_longest(explicit[: len(own)], own, fillvalue=""))
        is_handed = any(explicit) or version.generation < 3 or not _begins_with_states(step)
        result.append(replace(step, masks=own if is_handed else ()))
        given = mask_name(step.outputs[0]) if gives_mask(step) else _passed(step, own)
        if given:
            masks[step.outputs[0]] = given
            if step.layer.kind == "Bidirectional" and step.layer.config.get("merge_mode") is None:
                masks.update(dict.fromkeys(step.outputs[:2], given))
    return result


def _begins_with_states(step: Step) -> bool:
    return step.layer.kind in STATES and bool(sequence_and_states(step.arguments)[1])


def _without_mask(step: Step) -> tuple[Step, tuple[str, ...]]:
    """A step without the argument `mask`, and the names of its tensors, '' where there is none. Softmax and functions
    take it as an argument like others."""
    given = step.arguments.named.get("mask")
    is_plain = step.layer.kind == "Softmax" or step.layer.kind.startswith("ops.")
    if "mask" not in step.arguments.named or is_plain:
        return step, ()
    named = {name: value for name, value in step.arguments.named.items() if name != "mask"}
    masks = given if isinstance(given, (list, tuple)) else [given]
    explicit = tuple(one.name if isinstance(one, Tensor) else "" for one in masks)
    return replace(step, arguments=Arguments(step.arguments.positional, named)), explicit


def _passed(step: Step, masks: tuple[str, ...]) -> str:
    """The mask of a step's first result, '' if it has none."""
    kind, config = step.layer.kind, step.layer.config
    if kind in STATES:
        return masks[0] if config.get("return_sequences") else ""
    if kind == "Bidirectional":
        return masks[0] if step.layer.part("forward_layer").config.get("return_sequences") else ""
    if kind in _MERGING:
        return _merged(kind, config.get("axis"), masks)
    return masks[0] if kind in _PASSING and masks else ""


def _merged(kind: str, axis: object, masks: tuple[str, ...]) -> str:
    """Without a mask on each tensor there is none, but for Concatenate; equal masks stay."""
    if not any(masks) or ("" in masks and kind != "Concatenate"):
        return ""
    is_one = len(set(masks)) == 1 and (kind != "Concatenate" or axis == -1)
    return masks[0] if is_one else MIXED
