"""Explains a schedule: where each stage is computed, its region, bytes and loops, and what passes made of the code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from sateen.runtime.target import Target
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.codegen.llvm import CodeReport
from sateen.tensor_ir.codegen.object_code import generate
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.printer import Names, format_expr
from sateen.tensor_ir.lowering.double_buffers import COPIES
from sateen.tensor_ir.lowering.from_schedule import lower
from sateen.tensor_ir.lowering.regions import infer_regions
from sateen.tensor_ir.lowering.remarks import Remark
from sateen.tensor_ir.lowering.stage_plan import StagePlan
from sateen.tensor_ir.schedule import Schedule, Stage
from sateen.tensor_ir.schedule.pragmas import remark_on
from sateen.tensor_ir.te.tensor import Tensor


@dataclass(frozen=True, slots=True)
class StageReport:
    """One stage. `region` gives first index and extent per dimension; `bytes` is None if a size is symbolic."""

    name: str
    place: str
    scope: str
    region: str
    bytes: int | None
    loops: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The stages, producers first, the counts of code generation, and the remarks of passes on loops and buffers that
    the schedule left to them. `str` gives a table, then a remark per line."""

    stages: tuple[StageReport, ...]
    code: CodeReport
    remarks: tuple[Remark, ...] = ()

    def __str__(self) -> str:
        head = ("stage", "computed", "scope", "region", "bytes", "loops")
        rows = [
            (s.name, s.place, s.scope, s.region, "symbolic" if s.bytes is None else f"{s.bytes:,}", s.loops)
            for s in self.stages
        ]
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        table = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]
        ]
        counts = (
            f"gathers {self.code.gathers}, masked accesses {self.code.masked}, scalarised calls {self.code.scalarised}"
        )
        return "\n".join([*table, counts, *map(str, self.remarks)])


def explain(schedule: Schedule, arguments: Sequence[Tensor], target: Target | str = "llvm") -> Explanation:
    """Regions and loops of every stage, and the accesses that are not plain in the code for `target`.

    Raises the errors of `lower` and code generation.
    """
    function = lower(schedule, arguments)
    analyzer = Analyzer()
    plans = infer_regions(schedule, analyzer)
    stages = [_inlined(s) for s in schedule.stages if s.inlined]
    stages += [_report(plan, analyzer) for plan in plans.values()]
    remarks = [
        Remark(f"loop {axis.name} of {stage.name}", text, is_done=False)
        for stage in schedule.stages
        for axis, pragmas in stage.pragmas.items()
        for key, value in pragmas
        if (text := remark_on(key, value))
    ]
    code = generate([function], Target.of(target), listener=remarks.append).report
    return Explanation(tuple(stages), code, tuple(dict.fromkeys(remarks)))


def _inlined(stage: Stage) -> StageReport:
    return StageReport(stage.name, "inlined", "", "", 0, "")


def _report(plan: StagePlan, analyzer: Analyzer) -> StageReport:
    stage, names = plan.stage, Names()
    place = "at root" if stage.attach is None else f"at {stage.attach[0].name}.{stage.attach[1].name}"
    zero: ex.Expr = ex.const(0)
    if stage.op.region_axes is None:
        regions = [[(zero, extent) for extent in t.shape] for t in stage.outputs]
    else:
        regions = [[(analyzer.simplify(plan.base[a]), plan.extent[a]) for a in stage.axes]] * len(stage.outputs)
    one: ex.Expr = ex.const(1)
    sizes = [analyzer.constant(reduce(ex.multiply, [extent for _, extent in region], one)) for region in regions]
    copies = COPIES if stage.is_double_buffered else 1
    known = [n * t.dtype.bytes * copies for n, t in zip(sizes, stage.outputs, strict=True) if n is not None]
    size = sum(known) if len(known) == len(sizes) else None
    shapes = dict.fromkeys(_region(region, names) for region in regions)
    kinds = {leaf: f"{kind.value} " for leaf, kind in stage.kinds.items()}
    if stage.tensorized is not None:
        kinds[stage.tensorized[0]] = f"{stage.tensorized[1].name} for "
    loops = (
        "extern"
        if not stage.leaves and not stage.op.body
        else " ".join(
            f"{kinds.get(leaf, '')}{leaf.name}:{format_expr(plan.loops[leaf], names)}"
            for leaf in stage.leaves
            if leaf in plan.loops
        )
    )
    scope = f"{stage.scope_name}, double" if stage.is_double_buffered else stage.scope_name
    return StageReport(stage.name, place, scope, " ".join(shapes), size, loops)


def _region(region: Sequence[tuple[ex.Expr, ex.Expr]], names: Names) -> str:
    """The first index and the extent of each dimension."""
    starts = ["" if ex.is_const(base, 0) else f"{format_expr(base, names)} : " for base, _ in region]
    extents = [format_expr(extent, names) for _, extent in region]
    return f"[{', '.join(map(str.__add__, starts, extents))}]"
