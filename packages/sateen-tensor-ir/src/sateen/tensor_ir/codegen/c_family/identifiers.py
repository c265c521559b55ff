"""C identifiers for variables and buffers, whose names in te are free text."""

from __future__ import annotations

import re
from collections.abc import Callable

from sateen.runtime.errors import CodegenError
from sateen.runtime.signature import LONGEST_NAME
from sateen.tensor_ir.functions import FUNCTIONS
from sateen.tensor_ir.functions.spelling import LibraryFunction
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Var
from sateen.tensor_ir.link import C_LIBRARY

PREFIX = "sateen_"
"""The prefix of all names that code generators define, and of no others."""

_KEYWORDS = """
auto bool break case char const continue default do double else enum extern false float for goto if inline int long
register restrict return short signed sizeof static struct switch true typedef union unsigned void volatile while
asm fortran main
"""
_KERNEL_KEYWORDS = """
half uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t kernel global local constant private generic pipe
read_only write_only read_write uniform event_t sampler_t
alignas alignof and and_eq bitand bitor catch char8_t char16_t char32_t class compl const_cast constexpr decltype delete
dynamic_cast explicit export friend mutable namespace new noexcept not not_eq nullptr operator or or_eq protected public
reinterpret_cast static_assert static_cast template this thread_local throw try typeid typename using virtual wchar_t
xor xor_eq concept requires consteval constinit co_await co_return co_yield
blockIdx blockDim gridDim threadIdx warpSize linux unix
bfloat device fragment metal precise ray_data thread threadgroup threadgroup_imageblock vertex MAXFLOAT
"""  # of OpenCL C, C++, CUDA C and Metal
_LIBRARY = """
acos acosh asin asinh atan atan2 atanh cbrt copysign cosh erfc exp2 expm1 fdim fmax fmin fmod frexp hypot ilogb ldexp
lgamma log10 log1p log2 logb lrint lround llrint llround modf nan nearbyint nextafter nexttoward remainder remquo round
scalbln scalbn sinh tan tgamma
clearerr fclose feof ferror fflush fgetc fgetpos fgets fopen fprintf fread freopen fscanf fseek fsetpos ftell fwrite
getc getchar gets perror printf putc putchar puts remove rename rewind scanf setbuf setvbuf snprintf sprintf sscanf
tmpfile tmpnam ungetc vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf
abort abs atexit atof atoi atol atoll bsearch calloc div exit getenv labs llabs lldiv ldiv mblen mbstowcs mbtowc qsort
rand realloc srand strtod strtof strtol strtold strtoll strtoul strtoull system wcstombs wctomb
memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strerror strlen strncat strncmp strncpy
strpbrk strrchr strspn strstr strtok strxfrm
"""  # C99 7.12, 7.19, 7.20 and 7.21; of the functions of mathematics, those without suffix
_KEYWORD_SET, _KERNEL_SET, _LIBRARY_SET = (
    frozenset(words.split()) for words in (_KEYWORDS, _KERNEL_KEYWORDS, _LIBRARY)
)
_SPELLINGS = (spelling for function in FUNCTIONS.values() for spelling in (function.c99, function.opencl))
_CALLED_SET = frozenset(
    {"malloc", "free", "fputs", "fputc"}
    | {spelling.name for spelling in _SPELLINGS if isinstance(spelling, LibraryFunction)}
    | {function.library for function in FUNCTIONS.values() if function.library}
)
"""The functions that generated code calls."""
_MACROS = re.compile(
    r"_.*|U?INT\w*|NULL|EOF|BUFSIZ|NAN|INFINITY|HUGE_VAL[FL]?|RAND_MAX|TMP_MAX|std(in|out|err)|errno|offsetof"
    r"|(EXIT|SEEK|FP|MATH|PTR|SIZE|WCHAR|WINT|SIG|MB|L|M|CL|CLK|CHAR|SHRT|LONG|FLT|DBL|HALF)_\w+"
)
_TYPES = re.compile(r"u?int\d+_t|(u?(char|short|int|long)|float|double|half)\d+|DL(Tensor|Device|DataType)")


def is_reserved(name: str) -> bool:
    """Whether C, a language of kernels or a function that the generated code calls has the name."""
    known = name in _KEYWORD_SET | _KERNEL_SET or bool({name, name.removesuffix("f")} & _CALLED_SET)
    return known or name.startswith(PREFIX) or any(form.fullmatch(name) for form in (_MACROS, _TYPES))


def check_public(name: str, *, of_kernels: bool = False) -> None:
    """Raise CodegenError for a name that C, or with `of_kernels` a language of kernels, can't give to a function.

    Names that libraries of sateen import are refused, too.
    """
    is_identifier = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
    is_taken = is_reserved(name) and (of_kernels or name not in _KERNEL_SET)
    is_library = bool({name, name.rstrip("fl")} & (_LIBRARY_SET | _CALLED_SET)) or name in C_LIBRARY
    if is_taken or is_library or not is_identifier:
        raise CodegenError(f"expected an identifier that C leaves to its users for a function, found {name!r}")
    if len(name) > LONGEST_NAME:
        raise CodegenError(f"expected at most {LONGEST_NAME} characters in the name of a function, found {len(name)}")


class Identifiers:
    """One identifier per variable or buffer of a function; a name that is taken gets a number."""

    def __init__(self, taken: frozenset[str], is_reserved: Callable[[str], bool] = is_reserved) -> None:
        self._given: dict[Var | Buffer, str] = {}
        self._taken = set(taken)
        self._is_reserved = is_reserved

    def of(self, node: Var | Buffer) -> str:
        """The identifier of a node, the same each time."""
        if node not in self._given:
            self._given[node] = self.fresh(node.name)
        return self._given[node]

    def fresh(self, wish: str) -> str:
        """An identifier like `wish` that nothing else has."""
        plain = re.sub(r"[^A-Za-z0-9_]", "_", wish)
        if not plain or plain[0].isdigit() or plain.startswith((PREFIX, "_")):
            plain = f"v{plain}"
        if self._is_reserved(plain):
            plain = f"{plain}_"
        name, number = plain, 1
        while name in self._taken:
            name, number = f"{plain}_{number}", number + 1
        self._taken.add(name)
        return name
