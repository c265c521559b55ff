"""The public side of a C99 library (docs/design/abi.md): types, argument checks, the default host, metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import Template
from textwrap import wrap

from sateen.runtime.abi import ABI_VERSION, Status
from sateen.runtime.device import DeviceKind
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.c_family.dialects import C99
from sateen.tensor_ir.codegen.c_family.expressions import Expressions
from sateen.tensor_ir.codegen.c_family.translation_unit import TranslationUnit
from sateen.tensor_ir.codegen.signature import check_limits, symbols_of
from sateen.tensor_ir.codegen.status import STATUS_MESSAGES
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import MOST_NUMBER, Function

_LONGEST_STRING = 4095
"""The most characters of a string that every C99 compiler accepts (5.2.4.1)."""

_DECLARATIONS = """
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { int32_t device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct sateen_host sateen_host;
typedef struct sateen_device sateen_device;
typedef int32_t (*sateen_task)(void *closure, int64_t begin, int64_t end);
struct sateen_host {
  uint32_t abi_version;
  int32_t threads;
  void *context;
  int32_t (*parallel_for)(const sateen_host *host, sateen_task task, void *closure, int64_t extent);
  void *(*alloc)(const sateen_host *host, uint64_t bytes, uint64_t alignment);
  void (*free)(const sateen_host *host, void *memory);
  void (*log)(const sateen_host *host, int32_t level, const char *message);
  const sateen_device *const *devices;
  int32_t device_count;
};

enum {
  $codes
};

uint32_t sateen_abi_version(void);
const sateen_host *sateen_default_host(void);
const char *sateen_status_message(int32_t status);
extern const char sateen_metadata[];

static inline void *sateen_allocate(const sateen_host *host, int64_t elements, uint64_t size, uint64_t alignment) {
  return host->alloc(host, elements > 0 ? (uint64_t)elements * size : size, alignment);
}

static inline void sateen_release(const sateen_host *host, void *memory) {
  if (memory != NULL) host->free(host, memory);
}
"""

_SERVICES = """
static int32_t sateen_failure(int32_t code, int32_t argument, int32_t dimension) {
  return code | argument << 8 | dimension << 24;
}

/* What an argument is; only after that can its shape be read. */
static inline int32_t sateen_check_kind(
    const DLTensor *given, int32_t argument, int32_t code, int32_t bits, int32_t rank) {
  if (given == NULL) return sateen_failure(SATEEN_NULL_ARGUMENT, argument, 0);
  if (given->device.device_type != $cpu) return sateen_failure(SATEEN_DEVICE, argument, 0);
  if (given->dtype.code != code || given->dtype.bits != bits || given->dtype.lanes != 1) {
    return sateen_failure(SATEEN_DTYPE, argument, 0);
  }
  if (given->ndim != rank) return sateen_failure(SATEEN_RANK, argument, 0);
  return rank > 0 && given->shape == NULL ? sateen_failure(SATEEN_NULL_ARGUMENT, argument, 0) : 0;
}

static inline int32_t sateen_check_shape(const DLTensor *given, int32_t argument, const int64_t *shape) {
  for (int32_t d = 0; d < given->ndim; ++d) {
    if (given->shape[d] != shape[d] || shape[d] < 0) return sateen_failure(SATEEN_SHAPE, argument, d);
  }
  return 0;
}

static inline bool sateen_is_empty(const DLTensor *given) {
  for (int32_t d = 0; d < given->ndim; ++d) {
    if (given->shape[d] == 0) return true;
  }
  return false;
}

static inline void *sateen_data(const DLTensor *given) {
  return (char *)given->data + given->byte_offset;
}

/* Strides of dimensions of one element mean nothing; no strides mean compact ones. */
static inline int32_t sateen_check_layout(
    const DLTensor *given, int32_t argument, const int64_t *strides, uintptr_t alignment) {
  if (sateen_is_empty(given)) return 0;
  int64_t compact = 1;
  for (int32_t d = given->ndim - 1; d >= 0; --d) {
    const int64_t stride = given->strides != NULL ? given->strides[d] : compact;
    if (given->shape[d] != 1 && stride != strides[d]) return sateen_failure(SATEEN_STRIDES, argument, d);
    compact *= given->shape[d];
  }
  if (given->data == NULL) return sateen_failure(SATEEN_NULL_ARGUMENT, argument, 0);
  return (uintptr_t)sateen_data(given) % alignment == 0 ? 0 : sateen_failure(SATEEN_ALIGNMENT, argument, 0);
}

/* The stride of a dimension; one that is not given, or that means nothing, is that of a compact argument. */
static inline int64_t sateen_stride(const DLTensor *given, int32_t dimension) {
  if (given->strides != NULL && given->shape[dimension] > 1) return given->strides[dimension];
  int64_t compact = 1;
  for (int32_t d = given->ndim - 1; d > dimension; --d) compact *= given->shape[d];
  return compact;
}

/* Whether elements have places of their own: each stride goes beyond what the smaller ones reach. */
static inline int32_t sateen_check_apart(const DLTensor *given, int32_t argument, const int64_t *strides) {
  for (int32_t d = 0; d < given->ndim; ++d) {
    int64_t within = 0;
    for (int32_t e = 0; e < given->ndim; ++e) {
      const bool smaller = strides[e] < strides[d] || (e > d && strides[e] == strides[d]);
      if (smaller) within += (given->shape[e] - 1) * strides[e];
    }
    if (given->shape[d] > 1 && strides[d] <= within) return sateen_failure(SATEEN_STRIDES, argument, d);
  }
  return 0;
}

/* The address behind the last element of an argument that has elements. */
static inline uintptr_t sateen_end(const DLTensor *given, const int64_t *strides) {
  uint64_t last = 0;
  for (int32_t d = 0; d < given->ndim; ++d) last += (uint64_t)((given->shape[d] - 1) * strides[d]);
  return (uintptr_t)sateen_data(given) + (uintptr_t)((last + 1) * (given->dtype.bits / 8));
}

/* Whether two arguments have memory in common. */
static inline bool sateen_overlap(
    const DLTensor *a, const int64_t *a_strides, const DLTensor *b, const int64_t *b_strides) {
  if (sateen_is_empty(a) || sateen_is_empty(b)) return false;
  return (uintptr_t)sateen_data(a) < sateen_end(b, b_strides) && (uintptr_t)sateen_data(b) < sateen_end(a, a_strides);
}

static int32_t sateen_parallel_for(const sateen_host *host, sateen_task task, void *closure, int64_t extent) {
  (void)host;
  return extent > 0 ? task(closure, 0, extent) : 0;
}

/* The address that malloc gave is kept before the aligned one. */
static void *sateen_alloc(const sateen_host *host, uint64_t bytes, uint64_t alignment) {
  (void)host;
  if (bytes > SIZE_MAX - alignment - sizeof(void *)) return NULL;
  char *memory = malloc((size_t)(bytes + alignment + sizeof(void *)));
  if (memory == NULL) return NULL;
  const uintptr_t first = (uintptr_t)memory + sizeof(void *);
  void **aligned = (void **)(void *)(memory + sizeof(void *) + (alignment - first % alignment) % alignment);
  aligned[-1] = memory;
  return aligned;
}

static void sateen_free(const sateen_host *host, void *memory) {
  (void)host;
  if (memory != NULL) free(((void **)memory)[-1]);
}

static void sateen_log(const sateen_host *host, int32_t level, const char *message) {
  (void)host;
  (void)level;
  fputs(message, stderr);
  fputc('\\n', stderr);
}

static const sateen_host sateen_host_table = {
  $version, 0, NULL, sateen_parallel_for, sateen_alloc, sateen_free, sateen_log, NULL, 0
};

uint32_t sateen_abi_version(void) {
  return $version;
}

const sateen_host *sateen_default_host(void) {
  return &sateen_host_table;
}

const char *sateen_status_message(int32_t status) {
  switch (status & 0xff) {
    $messages
    default: return "unknown status";
  }
}

const char sateen_metadata[] =$metadata;
"""


def declarations() -> str:
    """Types of DLPack and of the ABI, status codes, and the functions that kernels call."""
    codes = ",\n  ".join(f"SATEEN_{status.name} = {status.value}" for status in Status)
    return Template(_DECLARATIONS).substitute(codes=codes)


def services(metadata: str) -> str:
    """The functions that every library has, including checks, and its metadata."""
    messages = "\n    ".join(f'case SATEEN_{status.name}: return "{text}";' for status, text in STATUS_MESSAGES.items())
    return Template(_SERVICES).substitute(
        cpu=int(DeviceKind.CPU), version=ABI_VERSION, messages=messages, metadata=_string(metadata)
    )


def _string(text: str) -> str:
    """A C string; beyond the length that every compiler accepts, its characters one by one."""
    escaped = [c.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") for c in text]
    if len(text) <= _LONGEST_STRING:
        return "\n  " + "\n  ".join(f'"{"".join(escaped[i : i + 100])}"' for i in range(0, len(escaped), 100))
    return " {\n  " + "\n  ".join(wrap(", ".join(map(str, [*text.encode("ascii"), 0])), 110)) + "\n}"


class PublicFunction(Expressions):
    """The function that hosts call: it checks every argument, then calls the kernel."""

    dialect = C99

    def __init__(self, unit: TranslationUnit, function: Function, kernel: str) -> None:
        super().__init__(unit, frozenset({"host", "args", "count", "status"}), function.name)
        self.function = function
        self.symbols = symbols_of(function)
        self.nonnegative.update(self.symbols)
        self.kernel = kernel

    def definition(self) -> str:
        """The C text. Raises CodegenError for more arguments or dimensions than a status can distinguish."""
        check_limits(self.function)
        for b in self.function.parameters:
            if b.on_device is not None:
                raise CodegenError(
                    f"{self.function.name}: C99 has no memory of devices, found {b.name!r} of {b.on_device}; build for "
                    "llvm"
                )
        parameters = self.function.parameters
        self.line("if (host == NULL) host = sateen_default_host();")
        self.line("if (host->abi_version != sateen_abi_version()) return SATEEN_ABI_VERSION;")
        self.line(f"if (count != {len(parameters)}) return SATEEN_ARGUMENT_COUNT;")
        if parameters:
            self.line("if (args == NULL) return SATEEN_NULL_ARGUMENT;")
        for i, b in enumerate(parameters):
            self._check(f"sateen_check_kind(args[{i}], {i}, {int(b.dtype.code)}, {b.dtype.bits}, {len(b.shape)})")
        self._bind_symbols()
        shapes = [self._array(f"shape_{i}", b.shape) for i, b in enumerate(parameters)]
        strides = [self._array(f"strides_{i}", b.stride_exprs()) for i, b in enumerate(parameters)]
        for i, shape in enumerate(shapes):
            self._check(f"sateen_check_shape(args[{i}], {i}, {shape})")
        for r in self.function.requirements:
            self.begin(r.slack)
            place = f"{parameters.index(r.parameter)}, {r.dimension}"
            self.line(f"if ({self.text(r.slack)} < 0) return sateen_failure(SATEEN_SHAPE, {place});")
        for i, b in enumerate(parameters):
            self._check(f"sateen_check_layout(args[{i}], {i}, {strides[i]}, {b.alignment})")
            if b in self.function.outputs and any(isinstance(s, Var) for s in b.strides or ()):
                self._check(f"sateen_check_apart(args[{i}], {i}, {strides[i]})")
        for i, j in self._exclusive():
            overlap = f"sateen_overlap(args[{i}], {strides[i]}, args[{j}], {strides[j]})"
            self.line(f"if ({overlap}) return sateen_failure(SATEEN_OVERLAP, {i}, 0);")
        data = (f"sateen_data(args[{i}])" for i in range(len(parameters)))
        self.line(f"return {self.kernel}({', '.join(['host', *data, *map(self.name, self.symbols)])});")
        head = f"int32_t {self.function.name}(const sateen_host *host, DLTensor *const *args, int32_t count) {{"
        return "\n".join([head, *self.lines, "}"])

    def _check(self, call: str) -> None:
        if "  int32_t status;" not in self.lines:
            self.line("int32_t status;")
        self.line(f"if ((status = {call}) != 0) return status;")

    def _bind_symbols(self) -> None:
        """Each symbol is the number that an argument holds, the first extent that consists of it alone, or else the
        first stride."""
        parameters = self.function.parameters
        held = {symbol: parameters.index(b) for symbol, b in self.function.numbers}
        for symbol in self.symbols:
            if symbol in held:
                i = held[symbol]
                self._check(f"sateen_check_layout(args[{i}], {i}, NULL, {parameters[i].alignment})")
                self.line(f"const int64_t {self.name(symbol)} = *(const int64_t *)sateen_data(args[{i}]);")
                outside = f"{self.name(symbol)} < 0 || {self.name(symbol)} > {MOST_NUMBER}"
                self.line(f"if ({outside}) return sateen_failure(SATEEN_SHAPE, {i}, 0);")
                continue
            extents = ((i, d) for i, b in enumerate(parameters) for d, e in enumerate(b.shape) if e is symbol)
            strides = ((i, d) for i, b in enumerate(parameters) for d, e in enumerate(b.strides or ()) if e is symbol)
            if place := next(extents, None):
                self.line(f"const int64_t {self.name(symbol)} = args[{place[0]}]->shape[{place[1]}];")
                continue
            i, d = next(strides)
            self.line(f"const int64_t {self.name(symbol)} = sateen_stride(args[{i}], {d});")
            self.line(f"if ({self.name(symbol)} < 0) return sateen_failure(SATEEN_STRIDES, {i}, {d});")

    def _array(self, wish: str, values: Sequence[Expr]) -> str:
        """The name of an array of these values; NULL for none."""
        if not values:
            return "NULL"
        self.begin(*values)
        name = self.identifiers.fresh(wish)
        self.line(f"const int64_t {name}[] = {{{', '.join(map(self.text, values))}}};")
        return name

    def _exclusive(self) -> Iterator[tuple[int, int]]:
        """Pairs of an output and another argument that must not share memory, each once."""
        f = self.function
        for i, b in enumerate(f.parameters):
            for j, other in enumerate(f.parameters):
                seen = other in f.outputs and j <= i
                if b in f.outputs and i != j and not seen and not {b, other} <= f.aliased:
                    yield i, j
