"""Pass simplify, with remove_dead_nodes behind it for texts without leftovers."""

import pytest

from sateen.graph_ir.ir import Graph, parse_graph
from sateen.graph_ir.ops import OPS
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes
from sateen.graph_ir.passes.simplify import simplify

POOL = "kernel=(2,), strides=(1,), dilations=(1,)"


def run(graph: Graph) -> Graph:
    return remove_dead_nodes(simplify(graph))


@pytest.mark.parametrize(
    "line",
    [
        "%a = identity(%x)",
        "%a = cast(%x) {dtype=float32}",
        "%a = reshape(%x) {shape=(2, 3, 4)}",
        "%a = broadcast_to(%x) {shape=(2, 3, 4)}",
        "%a = tile(%x) {repeats=(1, 1, 1)}",
        "%a = transpose(%x) {permutation=(0, 1, 2)}",
        "%a = slice(%x) {starts=(0, 0, 0), ends=(2, 3, 4), steps=(1, 1, 1)}",
        '%a = pad(%x) {mode="constant", pads=(0, 0, 0, 0, 0, 0), value=0.0}',
        "%a = concat(%x) {axis=1}",
        "%a = split(%x) {axis=1, sizes=(3,)}",
        "parameter %z: float32[1] = [0.0]\n%a = add(%z, %x)",
        "parameter %z: float32[4] = [0.0, 0.0, 0.0, 0.0]\n%a = subtract(%x, %z)",
        "parameter %z: float32[1] = [1.0]\n%a = multiply(%x, %z)",
        "parameter %z: float32[1] = [1.0]\n%a = divide(%x, %z)",
        "%t = transpose(%x) {permutation=(1, 2, 0)}\n%a = transpose(%t) {permutation=(2, 0, 1)}",
        "%t = reshape(%x) {shape=(6, 4)}\n%a = reshape(%t) {shape=(2, 3, 4)}",
    ],
)
def test_what_gives_its_input_goes(check, line):
    head = "input %x: float32[2, 3, 4]"
    check(run, f"{head}\n{line}\n%y = exp(%a)\noutput %y", f"{head}\n%y = exp(%x)\noutput %y")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "%a = transpose(%x) {permutation=(1, 0, 2)}\n%y = transpose(%a) {permutation=(2, 1, 0)}",
            "%y = transpose(%x) {permutation=(2, 0, 1)}",
        ),
        ("%a = reshape(%x) {shape=(6, 4)}\n%y = reshape(%a) {shape=(3, 8)}", "%y = reshape(%x) {shape=(3, 8)}"),
        (
            """%a = slice(%x) {starts=(0, 0, 1), ends=(1, 3, 4), steps=(1, 2, 1)}
            %y = slice(%a) {starts=(0, 1, 1), ends=(1, 2, 3), steps=(1, 1, 1)}""",
            "%y = slice(%x) {starts=(0, 2, 2), ends=(1, 3, 4), steps=(1, 2, 1)}",
        ),
        ("%a = clip(%x) {low=-1.0, high=6.0}\n%y = relu(%a)", "%y = clip(%x) {low=0, high=6.0}"),
        ("%a = relu(%x)\n%y = clip(%a) {low=none, high=6.0}", "%y = clip(%x) {low=0, high=6.0}"),
        ("%a = relu(%x)\n%y = relu(%a)", "%y = relu(%x)"),
        (
            "%a = concat(%x, %x) {axis=0}\n%y = concat(%a, %x) {axis=0}",
            "%y = concat(%x, %x, %x) {axis=0}",
        ),
    ],
)
def test_two_of_a_kind_become_one(check, before, after):
    head = "input %x: float32[2, 3, 4]"
    check(run, f"{head}\n{before}\noutput %y", f"{head}\n{after}\noutput %y")


def test_a_transpose_of_axes_of_size_one_is_a_reshape(check):
    head = "input %x: float32[2, 1, 4]"
    before = "%y = transpose(%x) {permutation=(1, 0, 2)}"
    check(run, f"{head}\n{before}\noutput %y", f"{head}\n%y = reshape(%x) {{shape=(1, 2, 4)}}\noutput %y")


def test_zeros_around_the_data_of_a_convolution_become_its_own(check):
    head = "input %x: float32[1, 1, 4]\nparameter %w: float32[1, 1, 3] = [1.0, 2.0, 3.0]"
    check(
        run,
        f"""
        {head}
        %p = pad(%x) {{mode="constant", pads=(0, 0, 1, 0, 0, 2), value=0.0}}
        %y = conv(%p, %w) {{pads=(1, 0)}}
        output %y
        """,
        f"{head}\n%y = conv(%x, %w) {{pads=(2, 2)}}\noutput %y",
    )


def test_zeros_around_the_data_of_an_average_pool_count(check):
    head = "input %x: float32[1, 1, 4]"
    pad = '%p = pad(%x) {mode="constant", pads=(0, 0, 1, 0, 0, 1), value=0.0}'
    check(
        run,
        f"{head}\n{pad}\n%y = average_pool(%p) {{{POOL}, pads=(0, 0)}}\noutput %y",
        f"{head}\n%y = average_pool(%x) {{kernel=(2,), pads=(1, 1), count_include_pad=true}}\noutput %y",
    )


@pytest.mark.parametrize(
    "lines",
    [
        # another type
        "%y = cast(%x) {dtype=float64}",
        # a constant that enlarges
        "parameter %z: float32[1, 1, 1, 1] = [0.0]\n%a = add(%x, %z)\n%y = exp(%a)",
        "parameter %z: float32[1] = [1.0]\n%a = subtract(%z, %x)\n%y = exp(%a)",
        "parameter %z: float32[1] = [0.0]\n%a = multiply(%x, %z)\n%y = exp(%a)",
        # backwards, then forwards
        "%a = slice(%x) {starts=(0, 0, 3), ends=(1, 3, -1), steps=(1, 1, -1)}\n%y = exp(%a)",
        """%a = slice(%x) {starts=(0, 0, 3), ends=(1, 3, -1), steps=(1, 1, -1)}
        %y = slice(%a) {starts=(0, 0, 0), ends=(1, 3, 2), steps=(1, 1, 1)}""",
        # limits that exclude each other: order matters
        "%a = clip(%x) {low=none, high=-1.0}\n%y = relu(%a)",
        # other axes, and an inner value that is read elsewhere
        "%a = concat(%x, %x) {axis=0}\n%y = concat(%a, %a) {axis=1}",
        "%a = concat(%x, %x) {axis=0}\n%b = concat(%a, %x) {axis=0}\n%e = exp(%a)\noutput %e\n%y = exp(%b)",
        # pads that are no zeros, or of channels
        '%p = pad(%x) {mode="constant", pads=(0, 0, 1, 0, 0, 1), value=1.0}\n%y = average_pool(%p) {POOL, pads=(0, 0)}',
        '%p = pad(%x) {mode="edge", pads=(0, 0, 1, 0, 0, 1)}\n%y = average_pool(%p) {POOL, pads=(0, 0)}',
        '%p = pad(%x) {mode="constant", pads=(0, 1, 0, 0, 0, 0)}\n%y = average_pool(%p) {POOL, pads=(0, 0)}',
        '%p = pad(%x) {mode="constant", pads=(0, 0, 1, 0, 0, 1)}\n%y = average_pool(%p) {POOL, pads=(1, 1)}',
        '%p = pad(%x) {mode="constant", pads=(0, 0, 1, 0, 0, 1)}\n%y = max_pool(%p) {POOL, pads=(0, 0)}',
        # pads that crop, and a last window that sticks out of them
        '%p = pad(%x) {mode="constant", pads=(0, 0, -1, 0, 0, 1)}\n%y = average_pool(%p) {POOL, pads=(0, 0)}',
        """%p = pad(%x) {mode="constant", pads=(0, 0, 1, 0, 0, 0)}
        %y = average_pool(%p) {kernel=(2,), strides=(2,), dilations=(1,), pads=(0, 0), ceil_mode=true}""",
    ],
)
def test_what_would_change_the_result_stays(check_unchanged, lines):
    check_unchanged(run, f"input %x: float32[1, 3, 4]\n{lines.replace('POOL', POOL)}\noutput %y")


@pytest.mark.parametrize("operator", ["add", "subtract", "multiply", "divide"])
def test_what_an_operator_broadcasts_is_not_broadcast_before(check, operator):
    head = "input %x: float32[2, 3, 4]\ninput %b: float32[3, 1]"
    before = f"%w = broadcast_to(%b) {{shape=(2, 3, 4)}}\n%y = {operator}(%x, %w)"
    check(run, f"{head}\n{before}\noutput %y", f"{head}\n%y = {operator}(%x, %b)\noutput %y")


def test_what_gives_a_result_its_shape_is_broadcast(check_unchanged):
    head = "input %x: float32[3, 4]\ninput %b: float32[3, 1]"
    check_unchanged(simplify, f"{head}\n%w = broadcast_to(%b) {{shape=(2, 3, 4)}}\n%y = add(%x, %w)\noutput %y")


@pytest.mark.parametrize(
    ("axis", "index", "starts", "ends", "shape"),
    [
        (0, "int64[] = [1]", (1, 0, 0), (2, 3, 4), (3, 4)),
        (1, "int32[] = [-1]", (0, 2, 0), (2, 3, 4), (2, 4)),
        (2, "int64[1, 1] = [2]", (0, 0, 2), (2, 3, 3), (2, 3, 1, 1)),
    ],
)
def test_a_gather_at_one_index_is_a_slice(check, axis, index, starts, ends, shape):
    head, tail = "input %x: float32[2, 3, 4]\n", "%y = exp(%g)\noutput %y"
    slice_ = f"%s = slice(%x) {{starts={starts}, ends={ends}, steps=(1, 1, 1)}}"
    check(
        run,
        f"{head}parameter %i: {index}\n%g = gather(%x, %i) {{axis={axis}}}\n{tail}",
        f"{head}{slice_}\n%g = reshape(%s) {{shape={shape}}}\n{tail}",
    )


@pytest.mark.parametrize("index", ["int64[] = [2]", "int64[] = [-3]", "int64[2] = [0, 1]"])
def test_gathers_at_several_indices_or_none_stay(index):
    graph = parse_graph(
        f"graph g\n  input %x: float32[2, 3]\n  parameter %i: {index}\n  %y = gather(%x, %i)\n  output %y", OPS
    )
    assert simplify(graph) is graph


@pytest.mark.parametrize(
    ("exponent", "lines"),
    [
        ("2.0", "%y = multiply(%a, %a)"),
        ("3.0", "%s = multiply(%a, %a)\n%y = multiply(%s, %a)"),
        ("0.5", "%y = sqrt(%a)"),
    ],
)
def test_powers_become_products_and_roots(check, exponent, lines):
    head = "input %x: float32[2, 3]\n%a = exp(%x)"
    before = f"{head}\nparameter %e: float32[1] = [{exponent}]\n%p = power(%a, %e)\n%y = relu(%p)\noutput %y"
    after = f"{head}\n{lines.replace('%y', '%p')}\n%y = relu(%p)\noutput %y"
    check(run, before, after)


@pytest.mark.parametrize("exponents", ["[2.0, 3.0, 2.0]", "[2.5, 2.5, 2.5]", "[-1.0, -1.0, -1.0]"])
def test_other_powers_stay(check_unchanged, exponents):
    check_unchanged(
        simplify,
        f"input %x: float32[2, 3]\nparameter %e: float32[3] = {exponents}\n%y = power(%x, %e)\noutput %y",
    )
