"""C99: a translation unit that needs a C compiler and its library, and nothing else.

Each function becomes a kernel, with a task per parallel loop before it, and the public function of docs/design/abi.md.
Threads of a device schedule run one after the other, which is the meaning of loop IR before barriers are inserted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sateen.runtime.device import DeviceKind
from sateen.runtime.dtype import DType, TypeCode
from sateen.runtime.errors import CodegenError
from sateen.runtime.signature import Metadata
from sateen.tensor_ir.codegen.c_family.c99_interface import PublicFunction, declarations, services
from sateen.tensor_ir.codegen.c_family.dialects import C99
from sateen.tensor_ir.codegen.c_family.identifiers import PREFIX, check_public
from sateen.tensor_ir.codegen.c_family.literals import ADD, UNARY, Code, array
from sateen.tensor_ir.codegen.c_family.statements import Statements
from sateen.tensor_ir.codegen.c_family.translation_unit import TranslationUnit
from sateen.tensor_ir.codegen.signature import signature_of, symbols_of
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Address, Buffer, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.external import LLVM, symbol_of
from sateen.tensor_ir.ir.identity import is_among
from sateen.tensor_ir.ir.stmt import Allocate, For, Invoke, Let
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.lowering.pipelines import C_INDEX_BITS
from sateen.tensor_ir.lowering.split_tasks import HostProgram, Task
from sateen.tensor_ir.lowering.storage import is_on_stack

_HOST = Var("host")
"""Stands for the host table among the names that a text mentions."""
_TAKEN = frozenset({"status", "closure", "begin", "end", "given", "args", "count"})


def emit_c(programs: Sequence[HostProgram], target: str, producer: str, kernels: Sequence[HostProgram] = ()) -> str:
    """A C99 translation unit: the functions, those that every library has by docs/design/abi.md, and its metadata.

    `kernels` are what the functions call (`Invoke`); they have no public function. The unit compiles without a warning
    under `-Wall -Wextra -pedantic` and defines `sateen_default_host`, whose `parallel_for` is serial. `target` and
    `producer` go into the metadata. Raises CodegenError for anything that C can't express: a type or function that it
    lacks, barriers, a name that is taken.
    """
    names = [program.function.name for program in (*kernels, *programs)]
    if len(set(names)) != len(names):
        raise CodegenError(f"expected functions of different names, found {', '.join(names)}")
    unit = TranslationUnit(C99)
    public = []
    called = frozenset(program.function.name for program in kernels)
    for program in kernels:
        C99Kernel(unit, program).define()
    for program in programs:
        check_public(program.function.name)
        kernel = C99Kernel(unit, program, called)
        kernel.define()
        public.append(PublicFunction(unit, program.function, kernel.kernel_name).definition())
    metadata = Metadata(producer, target, tuple(signature_of(program.function) for program in programs))
    parts = [
        declarations(),
        *unit.routine_definitions(),
        *(array("static const", name, buffer, C99.types) for buffer, name in unit.constants.items()),
        services(metadata.to_json()),
        *(["\n".join(unit.declared)] if unit.declared else []),
        *unit.functions,
        *public,
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _kernel_name(function: str) -> str:
    return f"{PREFIX}kernel_{function}"


def _pointer_type(e: Address) -> str:
    return "void *" if "w" in e.access else "const void *"


class C99Kernel(Statements):
    """One function: its kernel, and a task for each of its parallel loops."""

    def __init__(self, unit: TranslationUnit, program: HostProgram, called: frozenset[str] = frozenset()) -> None:
        """`called` are the names of kernels of the unit that the function may call."""
        function = program.function
        super().__init__(unit, _TAKEN, function.name)
        self.function = function
        self.called = called
        self.tasks = program.tasks
        self.index = DType(TypeCode.INT, program.index_bits)
        self.symbols = symbols_of(function)
        self.nonnegative.update(self.symbols)
        self.kernel_name = _kernel_name(function.name)
        self.tasks_written = 0
        self.in_task = False
        self.part: Task | None = None
        """The loop of a task."""
        self.memory: dict[Buffer, None] = {}
        """The memory that the host allocates for the C function being written."""
        self.may_fail = False

    def define(self) -> None:
        """Add the kernel to the functions of the unit, its tasks before it."""
        parameters: tuple[Var | Buffer, ...] = (_HOST, *self.function.parameters, *self.symbols)
        head = f"static int32_t {self.kernel_name}({', '.join(map(self.declaration, parameters))})"
        body = self.c_function(lambda: self.statement(self.function.body))
        unused = [f"  (void){self.identifiers.of(p)};" for p in parameters if p not in self.mentioned]
        self.unit.functions.append("\n".join([f"{head} {{", *unused, *body, "}"]))

    def value_type(self, dtype: DType) -> str:
        """Indices for which 32 bits suffice have C's fastest type of at least these, as wide as the machine likes."""
        return "int_fast32_t" if dtype == INDEX and self.index.bits == C_INDEX_BITS else super().value_type(dtype)

    def declaration(self, node: Var | Buffer, *, restrict: bool = True) -> str:
        """The declaration of a parameter, or of a pointer to a buffer."""
        name = self.identifiers.of(node)
        if node is _HOST:
            return f"const sateen_host *{name}"
        if isinstance(node, Var):
            return f"{self.value_type(node.dtype)} {name}"
        given = node in self.function.parameters
        access = "const " if given and node not in self.function.outputs else ""
        alias = "restrict " if restrict and node not in self.function.aliased else ""
        return f"{access}{self.storage_type(node.dtype)} *{alias}{name}"

    def c_function(self, write: Callable[[], None]) -> list[str]:
        """The lines of a C function around the body that `write` writes: it allocates memory first and always frees
        it."""
        outer = self.memory, self.may_fail, self.depth
        self.memory, self.may_fail, self.depth = {}, False, 1
        with self.captured() as body:
            write()
        with self.captured() as lines:
            if self.memory or self.may_fail:
                self.line("int32_t status = 0;")
            for buffer in self.memory:
                self._ask_for(buffer)
            if self.memory:
                nothing = " || ".join(f"{self.name(b)} == NULL" for b in self.memory)
                with self.braces(f"if ({nothing})"):
                    self.line("status = SATEEN_OUT_OF_MEMORY;")
                    self.line("goto end;")
            self.lines += body
            if self.memory or self.may_fail:
                self.lines.append("end:")
                for buffer in reversed(self.memory):
                    self.line(f"sateen_release({self.name(_HOST)}, {self.name(buffer)});")
                self.line("return status;")
            else:
                self.line("return 0;")
        self.memory, self.may_fail, self.depth = outer
        return lines

    def _ask_for(self, buffer: Buffer) -> None:
        elements: Expr = ex.const(1)
        for extent, stride in zip(buffer.shape, buffer.stride_exprs(), strict=True):
            elements = elements + (extent - 1) * stride
        self.begin(elements)
        size = f"sizeof({self.storage_type(buffer.dtype)})"
        arguments = f"{self.name(_HOST)}, {self.text(elements)}, {size}, {buffer.alignment}"
        self.line(f"{self.declaration(buffer)} = sateen_allocate({arguments});")

    def allocate(self, s: Allocate) -> None:
        """Small private memory is an array on the stack; other memory comes from the host."""
        if s.buffer.on_device is not None:
            raise CodegenError(
                f"{self.function_name}: C99 has no memory of devices, found {s.buffer.name!r} of {s.buffer.on_device}; "
                "build for llvm"
            )
        if s.scope is not Scope.GLOBAL and is_on_stack(s.buffer):
            self.private_array(s)
            return
        sizes = (*s.buffer.shape, *(s.buffer.strides or ()))
        for unknown in (v for e in sizes for v in walk(e) if isinstance(v, Var) and not is_among(v, self.symbols)):
            raise CodegenError(
                f"{self.function_name}: the size of {s.buffer.name!r} expects extents of the arguments, found "
                f"{unknown.name!r}, which is known only where it is allocated"
            )
        self.memory.setdefault(s.buffer)
        self.statement(s.body)

    def parallel_loop(self, s: For) -> None:
        """A task that runs a part of the iterations, and a call of the host's parallel_for; inside a task, a plain
        loop."""
        if self.in_task:
            self.serial_loop(s)
            return
        own = self.tasks[s]
        self.begin(s.start, s.extent)
        if not isinstance(s.start, ex.Const):
            start = Var(f"{s.var.name}_start")
            self.line(f"const {self.value_type(start.dtype)} {self.identifiers.of(start)} = {self.text(s.start)};")
            if self.is_nonnegative(s.start):
                self.nonnegative.add(start)
            s = replace(s, start=start)
            own = replace(own, loop=replace(own.loop, start=start))
        extent = self.text(s.extent)
        task, closure = self._task(s, own)
        with self.braces(""):
            context = "NULL"
            if closure:
                self.line(f"struct {PREFIX}closure_{task} closure = {{{', '.join(map(self.name, closure))}}};")
                context = "&closure"
            host = self.name(_HOST)
            self.line(f"status = {host}->parallel_for({host}, {PREFIX}task_{task}, {context}, {extent});")
            self.line("if (status != 0) goto end;")
        self.may_fail = True

    def _task(self, s: For, own: Task) -> tuple[str, list[Var | Buffer]]:
        """Define the task of a parallel loop; returns its name, and the values in its closure."""
        task = f"{self.function_name}_{self.tasks_written}"
        self.tasks_written += 1
        outside, self.mentioned, self.in_task = self.mentioned, {}, True
        body = self.c_function(lambda: self._part(own))
        bound: set[Var | Buffer] = {n.var for n in walk(s) if isinstance(n, (For, Let))}
        bound |= {n.buffer for n in walk(s) if isinstance(n, Allocate)}
        closure = [node for node in self.mentioned if node not in bound]
        self.mentioned, self.in_task = outside, False
        head = f"static int32_t {PREFIX}task_{task}(void *closure, int64_t begin, int64_t end) {{"
        if closure:
            fields = [f"  {self.declaration(node, restrict=False)};" for node in closure]
            struct = f"{PREFIX}closure_{task}"
            self.unit.functions.append("\n".join([f"struct {struct} {{", *fields, "};"]))
            given = [f"  {self.declaration(node)} = given->{self.name(node)};" for node in closure]
            body = [f"  const struct {struct} *given = closure;", *given, *body]
        else:
            body = ["  (void)closure;", *body]
        self.unit.functions.append("\n".join([head, *body, "}"]))
        return task, closure

    def _part(self, task: Task) -> None:
        """The iterations of a task, after the statements that all of them share."""
        self.part = task
        self.statement(task.invariants.around(task.loop))

    def invoke(self, s: Invoke) -> None:
        """A call of a kernel of the same unit, with the addresses at which its buffers begin."""
        if s.callee not in self.called:
            super().invoke(s)
        self.begin(*s.offsets)
        places = []
        for buffer, offset in s.arguments:
            constant = "const " if buffer in self.function.parameters and buffer not in self.function.outputs else ""
            moved = "" if ex.is_const(offset, 0) else f" + {self.code(offset).within(ADD)}"
            places.append(f"({constant}void *)(({constant}char *){self.name(buffer)}{moved})")
        arguments = ", ".join([self.name(_HOST), *places])
        self.line(f"if ((status = {_kernel_name(s.callee)}({arguments})) != 0) goto end;")
        self.may_fail = True

    def address(self, e: Address) -> Code:
        return Code(f"(uint64_t)(uintptr_t){self._pointer(e)}", UNARY)

    def _pointer(self, e: Address) -> str:
        constant = "const " if "w" not in e.access else ""
        return f"({constant}void *)&{self.name(e.buffer)}[{self.text(e.offset)}]"

    def external(self, e: ex.Call) -> Code:
        """A call of a function that the linker finds."""
        if e.name.startswith(LLVM):
            raise CodegenError(f"{self.function_name}: C99 has no intrinsics of LLVM, found {e.name!r}; build for llvm")
        kinds = [_pointer_type(a) if isinstance(a, Address) else self.value_type(a.dtype) for a in e.args]
        taken = ", ".join(kinds) or "void"
        self.unit.declared[f"extern {self.value_type(e.dtype)} {symbol_of(e.name)}({taken});"] = None
        given = (self._pointer(a) if isinstance(a, Address) else self.text(a) for a in e.args)
        return Code(f"{symbol_of(e.name)}({', '.join(given)})")

    def packed(self, e: ex.Call) -> None:
        symbol = symbol_of(e.name)
        self.unit.declared[f"extern int32_t {symbol}(const sateen_host *, DLTensor *const *, int32_t);"] = None
        with self.braces(""):
            for i, argument in enumerate(e.args):
                self._tensor(i, argument)
            listed = ", ".join(f"&tensor_{i}" for i in range(len(e.args))) or "NULL"
            self.line(f"DLTensor *const tensors[] = {{{listed}}};")
            with self.braces(f"if ({symbol}({self.name(_HOST)}, tensors, {len(e.args)}) != 0)"):
                self.line("status = SATEEN_FUNCTION;")
                self.line("goto end;")
        self.may_fail = True

    def _tensor(self, i: int, e: Expr) -> None:
        """The DLTensor of an argument of a packed function."""
        shape: tuple[Expr, ...] = ()
        strides: tuple[Expr, ...] = ()
        if isinstance(e, Address):
            data, shape, strides = f"(void *){self.name(e.buffer)}", e.buffer.shape, e.buffer.stride_exprs()
        else:
            self.line(f"{self.value_type(e.dtype)} number_{i} = {self.text(e)};")
            data = f"&number_{i}"
        places = []
        for what, extents in (("shape", shape), ("strides", strides)):
            if extents:
                self.line(f"int64_t {what}_{i}[] = {{{', '.join(map(self.text, extents))}}};")
            places.append(f"{what}_{i}" if extents else "NULL")
        kind = e.buffer.dtype if isinstance(e, Address) else e.dtype
        dtype = f"{{{int(kind.code)}, {kind.bits}, 1}}"
        device = f"{{{DeviceKind.CPU.value}, 0}}"
        self.line(f"DLTensor tensor_{i} = {{{data}, {device}, {len(shape)}, {dtype}, {', '.join(places)}, 0}};")

    def serial_loop(self, s: For) -> None:
        if self.part is None or s is not self.part.loop:
            super().serial_loop(s)
            return
        self.begin(s.start)
        offset = "" if ex.is_const(s.start, 0) else f"{self.text(s.start)} + "
        index = "" if self.index.bits == 64 else f"({self.value_type(INDEX)})"
        backwards = self.part.backwards
        if backwards is None:
            self.counted_loop(s, f"{offset}{index}begin", f"{offset}{index}end")
            return
        turn = self.identifiers.fresh(f"{s.var.name}_turn")
        with self.braces(self.counting("int64_t", turn, "begin", "end")):
            self.begin(backwards)
            place = f"{index}({self.text(backwards)} ? begin + (end - 1 - {turn}) : {turn})"
            self.fixed(self.value_type(s.var.dtype), self.name(s.var), f"{offset}{place}")
            self.loop_body(s)
