"""Attention as one computation: softmax(q · kᵀ · scale + mask) · v, whose scores are never in memory as a whole.

Tiles of queries take blocks of keys one after the other. What is known of a row so far is its largest score, the sum of
its powers and the sum of values weighted by them; all are scaled when a larger score comes (Milakov and Gimelshein,
2018; Dao et al., 2022). A few queries are taken one by one, in vectors along keys and values.
"""

from sateen.topi.computations.attention.methods import KeyTiles, QueryTiles, attention_candidates
from sateen.topi.computations.attention.operands import Masking, attention_shape
from sateen.topi.computations.attention.scaled_dot_product import attention

__all__ = ["KeyTiles", "Masking", "QueryTiles", "attention", "attention_candidates", "attention_shape"]
