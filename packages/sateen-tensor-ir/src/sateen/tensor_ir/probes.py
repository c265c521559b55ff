"""Functions of loop IR for measuring a machine: chains of arithmetic, and loops that read, write and share memory."""

from __future__ import annotations

from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.targets import Machine

PADDING = 1040
"""Elements between streams, a page and a line: places at equal distances would meet in the same sets of a cache."""
ELEMENT_BYTES = 4
_VECTORS = 8
"""Vectors that a step of a loop reads or writes."""

MULTIPLY_ADD = "{x} * {a} + {a}"
ADDITION = "{x} + {a}"
CYCLES = 16


def _ticks() -> str:
    """Operations on integers that wait for each other, CYCLES of them, each of a cycle on every processor."""
    step = "{x}"
    for _ in range(CYCLES // 2):
        step = f"(bitwise_xor({step}, {{a}}) + {{a}})"
    return step


TICKS = _ticks()
MOST_CHAINS = 24
"""Chains that hide the latency of multiply-adds on the widest cores: four a cycle, of up to six cycles."""


def independent_chains(machine: Machine) -> int:
    """The chains that are in flight at once, as many as the registers hold."""
    return min(MOST_CHAINS, machine.vector_registers - 2)


def chains(name: str, step: str, *, lanes: int, count: int, rounds: int, dtype: str = "float32") -> Function:
    """x[i] = step(x[i], a), `rounds` times, for `count` independent vectors x[i] in registers."""
    x, a = f"x[chain * {lanes} + lane]", "a[lane]"
    return parse_function(f"""\
function {name}(a: {dtype}[{lanes}], result: out {dtype}[{lanes * count}])
  allocate x: register {dtype}[{lanes * count}]
  unrolled chain in [0, {count}):
    vectorized lane in [0, {lanes}):
      {x} = {a}
  for round in [0, {rounds}):
    unrolled chain in [0, {count}):
      vectorized lane in [0, {lanes}):
        {x} = {step.format(x=x, a=a)}
  unrolled chain in [0, {count}):
    vectorized lane in [0, {lanes}):
      result[chain * {lanes} + lane] = {x}
""")


def elements_of(size: int, lanes: int, streams: int = 1, cores: int = 1) -> int:
    """The elements of the array that `reads` and `writes` take for about `size` bytes of each core."""
    return cores * streams * (_each(size, lanes, streams) + PADDING)


def reads(name: str, size: int, rounds: int, *, lanes: int, streams: int = 1, cores: int = 1) -> Function:
    """Each core reads about `size` bytes of its own `rounds` times, at `streams` places in turn."""
    each, vectors = _each(size, lanes, streams), _vectors(streams)
    step, sums = lanes * vectors, streams * vectors * lanes
    own = f"core * {streams * (each + PADDING)} + stream * {each + PADDING}"
    index = f"(stream * {vectors} + part) * {lanes} + lane"
    return parse_function(f"""\
function {name}(x: int32[{elements_of(size, lanes, streams, cores)}], result: out int32[{cores}, {sums}])
  {_over(cores)}:
    allocate sums: register int32[{sums}]
    unrolled i in [0, {sums // lanes}):
      vectorized lane in [0, {lanes}):
        sums[i * {lanes} + lane] = int32(0)
    for round in [0, {rounds}):
      for step in [0, {each // step}):
        unrolled part in [0, {vectors}):
          unrolled stream in [0, {streams}):
            vectorized lane in [0, {lanes}):
              sums[{index}] = bitwise_xor(sums[{index}], x[{own} + step * {step} + part * {lanes} + lane])
    unrolled i in [0, {sums // lanes}):
      vectorized lane in [0, {lanes}):
        result[core, i * {lanes} + lane] = sums[i * {lanes} + lane]
""")


def writes(name: str, size: int, rounds: int, *, lanes: int) -> Function:
    """Writes about `size` bytes `rounds` times."""
    each, step = _each(size, lanes, 1), lanes * _VECTORS
    return parse_function(f"""\
function {name}(x: out int32[{each + PADDING}], a: int32[{lanes}])
  for round in [0, {rounds}):
    for step in [0, {each // step}):
      unrolled part in [0, {_VECTORS}):
        vectorized lane in [0, {lanes}):
          x[step * {step} + part * {lanes} + lane] = a[lane]
""")


def handed_over(name: str, size: int, rounds: int, *, lanes: int, to: int) -> Function:
    """Two cores write about `size` bytes each, then each reads what core (own + `to`) % 2 has written; `rounds` times.

    Both have work at all times: a core that has none would take the other's.
    """
    each, step = _each(size, lanes, 1), lanes * _VECTORS
    at = f"step * {step} + part * {lanes} + lane"
    return parse_function(f"""\
function {name}(x: out int32[2, {each + PADDING}], a: int32[{lanes}], result: out int32[2, {step}])
  for round in [0, {rounds}):
    parallel core in [0, 2):
      for step in [0, {each // step}):
        unrolled part in [0, {_VECTORS}):
          vectorized lane in [0, {lanes}):
            x[core, {at}] = a[lane]
    parallel core in [0, 2):
      allocate sums: register int32[{step}]
      unrolled part in [0, {_VECTORS}):
        vectorized lane in [0, {lanes}):
          sums[part * {lanes} + lane] = int32(0)
      for step in [0, {each // step}):
        unrolled part in [0, {_VECTORS}):
          vectorized lane in [0, {lanes}):
            sums[part * {lanes} + lane] = bitwise_xor(sums[part * {lanes} + lane], x[(core + {to}) % 2, {at}])
      unrolled part in [0, {_VECTORS}):
        vectorized lane in [0, {lanes}):
          result[core, part * {lanes} + lane] = sums[part * {lanes} + lane]
""")


def _vectors(streams: int) -> int:
    """The vectors that a step reads of each stream."""
    return max(1, _VECTORS // streams)


def _each(size: int, lanes: int, streams: int) -> int:
    """The elements of a stream: whole steps."""
    step = lanes * _vectors(streams)
    return max(1, size // (ELEMENT_BYTES * streams * step)) * step


def _over(cores: int) -> str:
    return f"{'parallel' if cores > 1 else 'for'} core in [0, {cores})"
