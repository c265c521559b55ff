"""Memory of kernels that nobody reads."""

from __future__ import annotations

from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.lowering.drop_unread import drop_unread

PAIR = """\
function f(A: float32[4], B: out float32[4])
  thread threadIdx.x i in [0, 4):
    allocate held: shared float32[4]
    held[i] = A[i]
    allocate best: register float32[1]
    allocate place: register float32[1]
    if i < 2:
      best[0] = {value}
    place[0] = A[i]
    B[i] = place[0]"""


def test_what_nobody_reads_goes_with_what_it_alone_reads() -> None:
    f = parse_function(PAIR.format(value="held[i]"))
    assert str(drop_unread(f.body)).splitlines() == [
        "thread threadIdx.x i in [0, 4):",
        "  allocate place: register float32[1]",
        "  place[0] = A[i]",
        "  B[i] = place[0]",
    ]


def test_what_is_read_stays() -> None:
    text = PAIR.format(value="held[i]").replace("B[i] = place[0]", "B[i] = place[0] + best[0]")
    body = parse_function(text).body
    assert drop_unread(body) is body


def test_calls_of_functions_outside_stay() -> None:
    body = parse_function(
        PAIR.format(value="extern.f(1.0f)").replace("    held[i] = A[i]\n", "    held[i] = A[i]\n")
    ).body
    assert "extern.f" in str(drop_unread(body))
