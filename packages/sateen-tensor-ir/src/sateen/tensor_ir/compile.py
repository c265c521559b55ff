"""From a schedule, or from loop IR, to compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sateen.runtime.device import DeviceKind
from sateen.runtime.errors import CodegenError, TargetError
from sateen.runtime.target import Target
from sateen.tensor_ir.codegen.kinds import kind_of
from sateen.tensor_ir.codegen.object_cache import ObjectCache
from sateen.tensor_ir.codegen.object_code import compile_functions
from sateen.tensor_ir.compiled_module import CompiledModule
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.ir.stmt import DENORMALS, Function
from sateen.tensor_ir.lowering import PASSES, lower
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES, IntrinsicRules
from sateen.tensor_ir.lowering.keep_loops import keep_loops as keep_all_loops
from sateen.tensor_ir.lowering.pipelines import Observer, Pass
from sateen.tensor_ir.schedule import Schedule
from sateen.tensor_ir.te.tensor import Tensor


def build(
    schedule: Schedule,
    arguments: Sequence[Tensor | Var],
    target: Target | str = "llvm",
    name: str = "run",
    *,
    buffers: Mapping[Tensor, Buffer] | None = None,
    aliased: Sequence[Tensor] = (),
    denormals: str = "keep",
    keep_loops: bool = False,
    passes: Sequence[Pass] = PASSES,
    observe: Observer | None = None,
    rules: IntrinsicRules = DEFAULT_RULES,
    cache: ObjectCache | None = None,
    target_host: Target | str = "llvm",
    externals: Mapping[str, Callable[..., object]] | None = None,
) -> CompiledModule:
    """Compile a schedule to one function over `arguments`, in their order: tensors, and numbers (`te.var`).

    `target` is a Target or its text; plain "llvm" is this machine with all features of its processor, "c" and kinds of
    devices give a source or kernels; `target_host` launches the kernels of a device. `buffers` declares storage other
    than compact row-major for some arguments; those in `aliased` may overlap each other. With `denormals` flush
    subnormal numbers may count as zeros (docs/semantics.md, 4.10). With `keep_loops` loops run as the schedule
    says: none is vectorized or unrolled because it is plain (docs/design/promotion.md). `passes` rewrite the loops
    (`lower`), and those for the target follow; `observe` gets the name of each, the function before it and the function
    after it. `rules` expand calls of functions, including the user's own. `cache` keeps object code between processes.
    `externals` are functions that the code calls in this process, by name: those of `te.call_packed` in Python, and
    functions of ctypes. Raises ScheduleError, LoweringError, CodegenError, TargetError.
    """
    if denormals not in DENORMALS:
        raise CodegenError(f"expected denormals {' or '.join(DENORMALS)}, found {denormals!r}")
    function = lower(schedule, arguments, name, buffers=buffers, aliased=aliased, passes=passes, observe=observe)
    functions = [replace(keep_all_loops(function) if keep_loops else function, denormals=denormals)]
    return build_functions(
        functions, target, observe=observe, rules=rules, cache=cache, target_host=target_host, externals=externals
    )


def build_functions(
    functions: Sequence[Function],
    target: Target | str = "llvm",
    *,
    observe: Observer | None = None,
    rules: IntrinsicRules = DEFAULT_RULES,
    cache: ObjectCache | None = None,
    target_host: Target | str = "llvm",
    externals: Mapping[str, Callable[..., object]] | None = None,
) -> CompiledModule:
    """Compile functions of loop IR, of different names, into one module. Raises CodegenError and TargetError.

    `observe` gets the name of each pass for the target, the function before it and the function after it; code that is
    in the cache goes through none.
    """
    if not isinstance(functions, (list, tuple)) or not functions:
        found = "none" if isinstance(functions, (list, tuple)) else type(functions).__name__
        raise CodegenError(f"build_functions expects a list of functions of loop IR, found {found}; lower makes one")
    for function in functions:
        if not isinstance(function, Function):
            raise CodegenError(f"build_functions expects functions of loop IR, found {type(function).__name__}")
    if not isinstance(rules, IntrinsicRules):
        found = type(rules).__name__
        raise CodegenError(f"expected rules made from DEFAULT_RULES.with_rule(name, rule), found {found}")
    if cache is not None and not isinstance(cache, ObjectCache):
        raise CodegenError(f"expected a cache such as ObjectCache(folder), found {type(cache).__name__}")
    complete, host = Target.of(target), Target.of(target_host)
    if host.device_kind is not DeviceKind.CPU:
        raise TargetError(f"expected a target of a processor as target_host, found {host}")
    kind = kind_of(complete)
    if cache is None or not kind.has_libraries:
        made = kind.make(functions, complete, rules, observe)
        return CompiledModule(functions, complete, rules, made, host, externals)
    code = cache.get_or_make(functions, complete, rules, lambda: compile_functions(functions, complete, rules, observe))
    return CompiledModule(functions, complete, rules, code, externals=externals)
