"""Higher-order operators: graphs that are chosen or repeated."""

import numpy as np

X = np.array([1.0, 2.0], np.float32)


def _branch(written, target, **arguments):
    v = written.call(target, **arguments)
    return written.graph([arguments["self"]], [v], f"branch_{target}")


def test_cond_takes_the_branch_that_its_predicate_says(written, run):
    x = written.input("x", (2,))
    branches = [_branch(written, f"aten.{name}", self=x, other=3) for name in ("add.Tensor", "mul.Tensor")]
    total = written.call("aten.sum.default", self=x)
    predicate = written.call("aten.gt.Scalar", self=total, other=0)
    y = written.call("higher_order.cond", a=predicate, b=branches[0], c=branches[1], d=[x])
    np.testing.assert_array_equal(run(written, [y], x=X)[0], X + 3)
    np.testing.assert_array_equal(run(written, [y], x=-X)[0], X * -3)


def test_branches_read_parameters_by_names_of_their_own(written, run):
    x, w = written.input("x", (2,)), written.parameter("w", np.array([5, 7], np.float32))
    branches = [
        written.graph([x, w], [written.call(f"aten.{name}.Tensor", self=x, other=w)], name) for name in ("add", "mul")
    ]
    predicate = written.call("aten.gt.Scalar", self=written.call("aten.sum.default", self=x), other=0)
    y = written.call("higher_order.cond", a=predicate, b=branches[0], c=branches[1], d=[x, w])
    np.testing.assert_array_equal(run(written, [y], x=X)[0], [6, 9])
    np.testing.assert_array_equal(run(written, [y], x=-X)[0], [-5, -14])


def test_while_loop_hands_on_its_state(written, run):
    x = written.input("x", (2,))
    total = written.call("aten.sum.default", self=x)
    test = written.graph([x], [written.call("aten.lt.Scalar", self=total, other=50)], "test")
    step = _branch(written, "aten.mul.Tensor", self=x, other=2)
    y = written.call("higher_order.while_loop", a=test, b=step, c=[x], d=[])
    np.testing.assert_array_equal(run(written, [y], x=X)[0], X * 32)


def test_map_and_scan_go_along_the_first_axis(written, run):
    xs, init = written.input("xs", (3, 2)), written.input("init", (2,))
    row = {"as_tensor": {"name": "row"}}
    double = _inner(written, "double", ["row"], [("aten.mul.Tensor", "twice", {"self": row, "other": 2})], ["twice"])
    y = written.call("higher_order.map_impl", a=double, b=[xs], c=[])
    state = {"as_tensor": {"name": "state"}}
    nodes = [
        ("aten.add.Tensor", "next", {"self": state, "other": row}),
        ("aten.neg.default", "out", {"self": {"as_tensor": {"name": "next"}}}),
    ]
    add = _inner(written, "add", ["state", "row"], nodes, ["next", "out"])
    last, outs = written.call("higher_order.scan", results=2, a=add, b=[init], c=[xs], d=[])
    data = np.arange(6, dtype=np.float32).reshape(3, 2)
    found = run(written, [y, last, outs], xs=data, init=X)
    sums = data.cumsum(0) + X
    for one, wanted in zip(found, (data * 2, sums[-1], -sums), strict=True):
        np.testing.assert_array_equal(one, wanted)


def test_a_graph_without_gradients_is_part_of_the_network(written, run):
    x = written.input("x", (2,))
    row = {"as_tensor": {"name": "row"}}
    double = _inner(written, "double", ["row"], [("aten.mul.Tensor", "twice", {"self": row, "other": 2})], ["twice"])
    y = written.call("higher_order.wrap_with_set_grad_enabled", a=False, b=double, c=x, name="y")
    np.testing.assert_array_equal(run(written, [y], x=X)[0], X * 2)


def _inner(written, name, inputs, nodes, outputs):
    outer, written.nodes = written.nodes, []
    for target, result, arguments in nodes:
        written.call(target, name=result, **arguments)
    graph = written.graph([], [], name)
    written.nodes = outer
    for key, names in (("inputs", inputs), ("outputs", outputs)):
        graph["as_graph"]["graph"][key] = [{"as_tensor": {"name": n}} for n in names]
    return graph
