"""Probabilities of classes from those of each pair of classes.

Method 2 of Wu, Lin, Weng: Probability Estimates for Multi-class Classification by Pairwise Coupling (2004), with the
steps and the ends of onnxruntime's svmclassifier.cc, which are libsvm's.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sateen.frontends.onnx.ml.scores import FLOAT
from sateen.frontends.onnx.node import OnnxNode
from sateen.graph_ir.ir import Dim, Graph, GraphBuilder, Value
from sateen.graph_ir.ops import (
    Abs,
    Add,
    BroadcastTo,
    Cast,
    Concat,
    Divide,
    Equal,
    Gather,
    Greater,
    Loop,
    Multiply,
    ReduceMax,
    ReduceSum,
    Reshape,
    Subtract,
    Where,
    While,
)
from sateen.runtime.dtype import DType

MOST_ITERATIONS = 100
NEARLY = 0.005
"""The error at which iterations end is this divided by the number of classes."""


def coupled(node: OnnxNode, pairs: Value, classes: int) -> Value:
    """Probabilities [N, classes] of pairs [N, pairs]: of i against j, for i < j in order."""
    rows = pairs.type.shape[0]
    products = _products(node, pairs, classes)
    equal = node.parameter(np.full((1, classes), 1 / classes, np.float32), "equal")
    first = node.step(BroadcastTo((rows, classes)), equal)
    most, goes_on = node.parameter(np.array(MOST_ITERATIONS), "most"), node.parameter(np.array(True), "goes_on")
    return node.step(While(_iteration(rows, classes)), most, goes_on, first, products)


def _products(node: OnnxNode, pairs: Value, classes: int) -> Value:
    """Q [N, classes, classes]: Q[t, t] = Σ r[j, t]², Q[t, j] = -r[j, t] r[t, j], where r[t, j] is the probability of t
    against j."""
    rows, count = pairs.type.shape
    assert isinstance(count, int)
    others = node.step(Subtract(), node.literal(1, FLOAT), pairs)
    none = node.step(BroadcastTo((rows, 1)), node.literal(0, FLOAT, (1, 1)))
    all_ = node.step(Concat(axis=1), pairs, others, none)
    place = np.full((classes, classes), 2 * count)
    for index, (i, j) in enumerate(combinations(range(classes), 2)):
        place[i, j], place[j, i] = index, count + index
    shape = (rows, classes, classes)
    of, against = (
        node.step(Reshape(shape), node.step(Gather(axis=1), all_, node.parameter(order.flatten(), role)))
        for order, role in ((place, "of"), (place.T, "against"))
    )
    squares = node.step(ReduceSum(axes=(2,)), node.step(Multiply(), against, against))
    diagonal = node.step(Multiply(), squares, node.parameter(np.eye(classes, dtype=np.float32), "diagonal"))
    return node.step(Subtract(), diagonal, node.step(Multiply(), of, against))


def _iteration(rows: Dim, classes: int) -> Graph:
    """An update of all classes, one after the other, in those rows that are not near the end; whether there was one."""
    g = GraphBuilder("coupling")
    g.input("iteration", "int64", ())
    p, q = g.input("p", "float32", (rows, classes)), g.input("q", "float32", (rows, classes, classes))
    turned = g.add(Reshape((rows, 1, classes)), p)
    qp = g.add(ReduceSum(axes=(2,), keepdims=False), g.add(Multiply(), q, turned))
    pqp = g.add(ReduceSum(axes=(1,)), g.add(Multiply(), p, qp))
    error = g.add(ReduceMax(axes=(1,)), g.add(Abs(), g.add(Subtract(), qp, pqp)))
    limit = g.parameter("limit", np.array(NEARLY / classes, np.float32))
    is_done = g.add(Greater(), limit, error)
    updated, _, _ = g.add_all(Loop(_update(rows, classes), classes, 3), p, qp, pqp, q)
    chosen = g.add(Where(), is_done, p, updated)
    one, zero = (g.parameter(name, np.array(number, np.int32)) for name, number in (("one", 1), ("zero", 0)))
    goes_on = g.add(Subtract(), one, g.add(Cast(DType.of("int32")), is_done))
    count = g.add(ReduceSum(axes=(0, 1), keepdims=False), goes_on)
    g.output(g.add(Greater(), count, zero))
    g.output(chosen)
    return g.finish()


def _update(rows: Dim, classes: int) -> Graph:
    """The update of class t: p, Qp and pQp of a row for the new p[t], with p divided by its new sum."""
    g = GraphBuilder("coupling_update")
    t = g.input("t", "int64", ())
    p, qp = g.input("p", "float32", (rows, classes)), g.input("qp", "float32", (rows, classes))
    pqp, q = g.input("pqp", "float32", (rows, 1)), g.input("q", "float32", (rows, classes, classes))
    one = g.add(Cast(FLOAT), g.add(Equal(), g.parameter("classes", np.arange(classes)[None]), t))
    row = g.add(ReduceSum(axes=(2,), keepdims=False), g.add(Multiply(), q, one))
    own, at = (g.add(ReduceSum(axes=(1,)), g.add(Multiply(), of, one)) for of in (row, qp))
    change = g.add(Divide(), g.add(Subtract(), pqp, at), own)
    total = g.add(Add(), change, g.parameter("unit", np.array(1, np.float32)))
    twice = g.add(Multiply(), at, g.parameter("two", np.array(2, np.float32)))
    slope = g.add(Add(), g.add(Multiply(), change, own), twice)
    moved = g.add(Add(), pqp, g.add(Multiply(), change, slope))
    g.output(g.add(Divide(), g.add(Add(), p, g.add(Multiply(), change, one)), total))
    g.output(g.add(Divide(), g.add(Add(), qp, g.add(Multiply(), change, row)), total))
    g.output(g.add(Divide(), g.add(Divide(), moved, total), total))
    return g.finish()
