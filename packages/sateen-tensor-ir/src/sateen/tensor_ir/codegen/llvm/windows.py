"""Vector loads of elements that are not neighbours, if each lane's place is known at compile time.

A few loads of neighbours, the windows, cover the lanes' elements; shuffles put them in order. Strides, reversals,
repeated and interleaved elements, and look-ups in constant tables become windows instead of a gather. If an unrolled
loop reads the neighbours of the lanes' elements, each window has the elements of a lane for all iterations, and the
transposed windows are the vectors of the iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sateen.tensor_ir.arith import Linear
from sateen.tensor_ir.codegen.llvm.addresses import Addresses
from sateen.tensor_ir.codegen.llvm.environment import Environment
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, literal, scalar_type, vector_literal
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Load
from sateen.tensor_ir.ir.expr import Expr, Scalar, Var
from sateen.tensor_ir.ir.types import INDEX, INT64

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]

_WIDE = (INDEX, INT64)
"""The types whose arithmetic is that of NumPy's int64; shorter ones wrap."""


class Windows:
    """Loads by windows.

    `neighbours` loads consecutive elements from the place that a form points to; 0 lanes: the one there.
    """

    def __init__(
        self,
        writer: FunctionWriter,
        environment: Environment,
        addresses: Addresses,
        neighbours: Callable[[Load, Linear, int], LlvmValue],
    ) -> None:
        self.writer = writer
        self.environment = environment
        self.addresses = addresses
        self.neighbours = neighbours

    def load(self, access: Load, active: Sequence[Scalar] | None = None) -> LlvmValue | None:
        """The elements that lanes read; None if a gather is better or places vary at run time.

        Only `active` lanes read, all if None; others get any element.
        """
        form = self.addresses.offset_form(access)
        offsets = self.lane_offsets(form)
        if offsets is None:
            return None
        if active is not None:
            some = next((offset for offset, on in zip(offsets, active, strict=True) if on), None)
            if some is None:
                return None
            offsets = [offset if on else some for offset, on in zip(offsets, active, strict=True)]
        base = Linear(
            form.constant, {atom: c for atom, c in form.terms.items() if not self.environment.depends_on_lane(atom)}
        )
        data = access.buffer.data
        if data is not None:
            constant, terms = self.addresses.evaluate(base)
            if not terms:
                kind = scalar_type(access.dtype)
                flat = data.reshape(-1)
                return vector_literal([literal(flat[constant + i].item(), kind) for i in offsets])
        starts, size = windows(offsets, self.environment.width)
        if len(starts) > max(2, self.environment.width // 2):
            return self._column(access, base, offsets)
        return self._picked([self.neighbours(access, base + start, size) for start in starts], starts, size, offsets)

    def _column(self, access: Load, base: Linear, offsets: Sequence[int]) -> LlvmValue | None:
        """One of the vectors of a transposed tile of windows; None if no unrolled loop reads them all."""
        n = self.environment.width
        for var, iterations in self.environment.unrolled.items():
            if (
                base.terms.get(var) != 1
                or len(iterations) != n
                or n & (n - 1)
                or not self.addresses.is_in_bounds(access)
            ):
                continue
            first = base.without(var) + iterations.start
            constant, terms = self.addresses.evaluate(first)
            key = (access.buffer, constant, tuple((v.text, c) for v, c in terms), tuple(offsets))
            own = self.environment.variables[var].literal
            assert own is not None
            for scope in reversed(self.writer.scopes):
                if (*key, own) in scope.loads:
                    return scope.loads[(*key, own)]
            columns = self._transposed([self.neighbours(access, first + offset, n) for offset in offsets])
            self.writer.scopes[-1].loads.update(((*key, i), v) for i, v in zip(iterations, columns, strict=True))
            return self.writer.scopes[-1].loads[(*key, own)]
        return None

    def _transposed(self, rows: list[LlvmValue]) -> list[LlvmValue]:
        """The columns of a square of a power of two of rows: halves, quarters, … of pairs of rows change places."""
        n = half = len(rows)
        while half > 1:
            half //= 2
            swapped = list(rows)
            for i in (i for i in range(n) if not i & half):
                a, b = rows[i], rows[i + half]
                swapped[i] = self.writer.shuffle(a, b, [j if not j & half else n + j - half for j in range(n)])
                swapped[i + half] = self.writer.shuffle(a, b, [j + half if not j & half else n + j for j in range(n)])
            rows = swapped
        return rows

    def lane_offsets(self, form: Linear) -> list[int] | None:
        """The distance of each lane's element from the address of the terms that lanes share; None if that varies."""
        total: Numbers = np.zeros(self.environment.width, np.int64)
        for atom, coefficient in form.terms.items():
            if self.environment.depends_on_lane(atom):
                numbers = self._lane_numbers(atom)
                if numbers is None:
                    return None
                total = total + numbers * coefficient
        return [int(i) for i in total]

    def _lane_numbers(self, e: Expr) -> Numbers | None:
        """The value of an integer expression in each lane, if it is known at compile time."""
        if e is self.environment.lane:
            return np.arange(self.environment.width, dtype=np.int64)
        if isinstance(e, ex.Const):
            return np.full(self.environment.width, int(e.value), np.int64)
        if isinstance(e, Var):
            known = self.environment.variables.get(e)
            return (
                None
                if known is None or known.literal is None
                else np.full(self.environment.width, int(known.literal), np.int64)
            )
        if isinstance(e, ex.Cast):
            return self._lane_numbers(e.value) if e.dtype in _WIDE and e.value.dtype.is_int else None
        if isinstance(e, Load):
            return self._table_numbers(e)
        rule = _NUMBERS.get(type(e))
        if rule is None or not isinstance(e, ex.Binary) or e.dtype not in _WIDE:
            return None
        a, b = self._lane_numbers(e.a), self._lane_numbers(e.b)
        if a is None or b is None or (rule in (np.floor_divide, np.remainder) and not np.all(b)):
            return None
        return rule(a, b)

    def _table_numbers(self, e: Load) -> Numbers | None:
        """The numbers that lanes read from constant data; masked lanes may point beyond it."""
        data = e.buffer.data
        if data is None or not e.dtype.is_int:
            return None
        places: Numbers = np.zeros(self.environment.width, np.int64)
        form = self.addresses.offset_form(e)
        for atom, coefficient in form.terms.items():
            numbers = self._lane_numbers(atom)
            if numbers is None:
                return None
            places = places + numbers * coefficient
        inside: Numbers = np.clip(places + form.constant, 0, data.size - 1)
        return data.reshape(-1)[inside].astype(np.int64)

    def _picked(
        self, parts: Sequence[LlvmValue], starts: Sequence[int], size: int, offsets: Sequence[int]
    ) -> LlvmValue:
        """Each lane's element from its window: two windows are combined at a time, then two of the results."""
        owner = [max(n for n, start in enumerate(starts) if start <= offset) for offset in offsets]
        merged = []
        for n in range(0, len(parts), 2):
            picks = [
                offset - starts[own] + (own - n) * size if own in (n, n + 1) else None
                for own, offset in zip(owner, offsets, strict=True)
            ]
            merged.append(self.writer.shuffle(parts[n], parts[n + 1] if n + 1 < len(parts) else None, picks))
        reach = 2
        while len(merged) > 1:
            halves = []
            for n in range(0, len(merged), 2):
                side = [own // reach - n for own in owner]
                picks = [i + s * self.environment.width if s in (0, 1) else None for i, s in enumerate(side)]
                halves.append(
                    self.writer.shuffle(merged[n], merged[n + 1], picks) if n + 1 < len(merged) else merged[n]
                )
            merged, reach = halves, reach * 2
        return merged[0]


def windows(offsets: Sequence[int], lanes: int) -> tuple[list[int], int]:
    """The starts, and the common size of at most `lanes`, of windows that hold all offsets and reach beyond none."""
    wanted = sorted(set(offsets))
    low, high = wanted[0], wanted[-1]
    clusters: list[list[int]] = [[low]]
    for offset in wanted[1:]:
        if offset - clusters[-1][0] < lanes:
            clusters[-1].append(offset)
        else:
            clusters.append([offset])
    size = max(cluster[-1] - cluster[0] + 1 for cluster in clusters)
    return [min(cluster[0], high - size + 1) for cluster in clusters], size


_NUMBERS: dict[type[Expr], Callable[[Numbers, Numbers], Numbers]] = {
    ex.Add: np.add, ex.Sub: np.subtract, ex.Mul: np.multiply, ex.FloorDiv: np.floor_divide,
    ex.FloorMod: np.remainder, ex.Min: np.minimum, ex.Max: np.maximum,
}  # fmt: skip
"""NumPy's floor_divide and remainder floor, as // and % of the language do."""
