"""Reads programs of PyTorch: files of torch.export.save, without torch, and programs in memory."""

from sateen.frontends.torch.reader import TORCH, from_torch

__all__ = ["TORCH", "from_torch"]
