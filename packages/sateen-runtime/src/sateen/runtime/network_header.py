"""The C header of an exported network: sizes, shapes, and functions that run it on pointers (docs/c.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from string import Template
from types import MappingProxyType

from sateen.runtime.errors import ArgumentError, printable
from sateen.runtime.signature import Parameter, Signature
from sateen.runtime.static_archive import symbol_of
from sateen.runtime.target import Target

_HEADER = Template("""\
/* A network, compiled by sateen for
 * $target
 *
$described
 *
 * The code beside this file holds the parameters. A program links any number of networks of different names.
 */
#ifndef ${upper}_NETWORK_H
#define ${upper}_NETWORK_H

#include <stddef.h>
#include <sateen.h>

$sizes

#ifdef __cplusplus
extern "C" {
#endif

$declared
const void *$parameters(void);
const sateen_host *$default_host(void);
const char *$status_message(int32_t status);

#ifdef __cplusplus
}
#endif

$functions
#endif
""")

_CALL = Template("""\
static inline int32_t ${name}(const sateen_host *host, $arguments)
{
    DLTensor sateen_tensors[$count];
    DLTensor *sateen_args[$count];
$shapes
    static const uint8_t sateen_codes[$count] = {$codes};
    static const uint8_t sateen_bits[$count] = {$bits};
    static const int32_t sateen_ranks[$count] = {$ranks};
    int64_t *const sateen_extents[$count] = {$extents};
    const void *const sateen_data[$count] = {$data};
    for (int i = 0; i < $count; ++i) {
        sateen_tensors[i].data = (void *)sateen_data[i];
        sateen_tensors[i].device.device_type = kDLCPU;
        sateen_tensors[i].device.device_id = 0;
        sateen_tensors[i].ndim = sateen_ranks[i];
        sateen_tensors[i].dtype.code = sateen_codes[i];
        sateen_tensors[i].dtype.bits = sateen_bits[i];
        sateen_tensors[i].dtype.lanes = 1;
        sateen_tensors[i].shape = sateen_extents[i];
        sateen_tensors[i].strides = NULL;
        sateen_tensors[i].byte_offset = 0;
        sateen_args[i] = &sateen_tensors[i];
    }
    return $function(host, sateen_args, $count);
}
""")
_RUN = """\
/* Runs the network on compact arrays. The workspace is aligned to {alignment} bytes and belongs to the caller: calls at
 * one time need one each. host may be NULL. Returns 0, or a status for {status_message}. */
"""
_PACK = """\
/* Packs the parameters for {name}_run, which reads packed memory only: call it once for any number of runs. packed and
 * the workspace are aligned to {alignment} bytes and belong to the caller. Returns what {name}_run returns. */
"""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = frozenset(
    re.findall(
        r"\w+",
        """
        auto break case char const continue default do double else enum extern float for goto if inline int long
        register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
        and bool catch class delete explicit export false friend mutable namespace new not operator or private protected
        public template this throw true try typename using virtual xor
        DLTensor NULL host i int32_t int64_t kDLCPU pack packed run uint8_t workspace
        """,
    )
)
"""Reserved words of C and C++, and names in the function that runs a network; its other names begin with `sateen`."""
_RESERVED_FORMS = re.compile(r"_[A-Z_]\w*[^_]|[A-Z0-9_]+_(MAX|MIN|C)|offsetof|(wchar|ptrdiff|size)_t|max_align_t")
"""The names that begin as those of compilers do, and names of stdint.h and stddef.h (C99, 7.1.3)."""


_C_FLOATS = {"float32": "float", "float64": "double"}


def header_of(
    signature: Signature,
    target: str,
    name: str,
    aliases: Mapping[str, str] = MappingProxyType({}),
    pack: Signature | None = None,
) -> str:
    """The header for C99 and C++ of a network whose last parameters are the blocks `parameters`, `packed` if there is a
    function `pack` that fills it, and `workspace`.

    All names that it defines and declares begin with `name`. `aliases` are the outputs that may use the memory of an
    input. Raises ArgumentError if `name` is no C identifier, TargetError if `target` is not the text of a target.
    """
    if not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
        raise ArgumentError(
            f"expected a C identifier as the name of the network, which the header doesn't use itself, found {name!r}"
        )
    symbol = partial(symbol_of, name)
    blocks = 2 if pack is None else 3
    arrays, (parameters, *packed, workspace) = signature.parameters[:-blocks], signature.parameters[-blocks:]
    upper = name.upper()
    names = _c_names(arrays, (f"{name}_", f"{upper}_"))
    given = [*zip(arrays, names, strict=True), (workspace, "workspace")]
    c_inputs = {p.name: c for p, c in given if not p.is_output}
    shared = {output: f", which may have the memory of {c_inputs[own]}" for output, own in aliases.items()}
    sizes = {"PARAMETER": parameters.shape[0], "WORKSPACE": workspace.shape[0]}
    signatures = [signature]
    stored = f"{symbol('sateen_parameters')}()"
    blocks_in_c = [*(["const void *packed"] if packed else []), "void *workspace"]
    arguments = [*(f"{_c_type(p)} *{c}" for p, c in zip(arrays, names, strict=True)), *blocks_in_c]
    told = {"name": name, "alignment": workspace.alignment, "status_message": symbol("sateen_status_message")}
    data = [*names, stored, *(["packed"] if packed else []), "workspace"]
    functions = [_RUN.format(**told) + _function(f"{name}_run", symbol, signature, arguments, data)]
    if pack is not None:
        sizes |= {"PACKED": packed[0].shape[0], "WORKSPACE": max(sizes["WORKSPACE"], pack.parameters[-1].shape[0])}
        signatures.append(pack)
        taken = ["void *packed", "void *workspace"]
        made = _function(f"{name}_pack", symbol, pack, taken, [stored, "packed", "workspace"])
        functions.insert(0, _PACK.format(**told) + made)
    return _HEADER.substitute(
        target=Target.parse(target),
        described="\n".join(
            f" *   {'out' if p.is_output else 'in '} {c}: {p.type}{_original(p, c)}"
            f"{shared.get(p.name, '') if p.is_output else ''}"
            for p, c in given
        ),
        upper=upper,
        sizes="\n".join(
            [
                *(line for p, c in given[:-1] for line in _size_macros(f"{upper}_{c.upper()}", p)),
                *(f"#define {upper}_{block}_BYTES {count}" for block, count in sizes.items()),
            ]
        ),
        declared="\n".join(
            f"int32_t {symbol(s.name)}(const sateen_host *host, DLTensor *const *args, int32_t n);" for s in signatures
        ),
        parameters=symbol("sateen_parameters"),
        default_host=symbol("sateen_default_host"),
        status_message=symbol("sateen_status_message"),
        functions="\n".join(functions),
    )


def _function(
    name: str, symbol: Callable[[str], str], signature: Signature, arguments: Sequence[str], data: Sequence[str]
) -> str:
    """A function in C that calls one of the ABI on pointers, of which `data` are its arguments."""
    all_of = signature.parameters
    return _CALL.substitute(
        name=name,
        function=symbol(signature.name),
        arguments=", ".join(arguments),
        count=len(all_of),
        shapes="\n".join(
            f"    int64_t sateen_shape{i}[] = {{{', '.join(map(str, p.shape))}}};"
            for i, p in enumerate(all_of)
            if p.shape
        ),
        codes=", ".join(str(int(p.dtype.code)) for p in all_of),
        bits=", ".join(str(p.dtype.bits) for p in all_of),
        ranks=", ".join(str(len(p.shape)) for p in all_of),
        extents=", ".join(f"sateen_shape{i}" if p.shape else "NULL" for i, p in enumerate(all_of)),
        data=", ".join(data),
    )


def _size_macros(prefix: str, p: Parameter) -> list[str]:
    extents = [int(extent) for extent in p.shape]
    shape = [f"#define {prefix}_SHAPE {{{', '.join(map(str, extents))}}}"] if extents else []
    return [*shape, f"#define {prefix}_ELEMENTS {prod(extents)}"]


def _c_type(p: Parameter) -> str:
    """bool is a byte; a type that C does not have is passed as an integer of the same width."""
    name = f"{p.dtype}_t" if p.dtype.is_int else _C_FLOATS.get(str(p.dtype), f"uint{p.dtype.bits}_t")
    return name if p.is_output else f"const {name}"


def _original(p: Parameter, c: str) -> str:
    """The name in the model where C has another one, as text that can't end a comment."""
    return "" if p.name == c else f', "{printable(p.name).replace("*/", "* /")}" in the model'


def _c_names(parameters: Sequence[Parameter], of_network: tuple[str, ...]) -> list[str]:
    """A C identifier for each parameter, all different, also in capitals; none begins as other names of the network
    do."""
    names: list[str] = []
    for p in parameters:
        name = re.sub(r"\W", "_", p.name, flags=re.ASCII)
        name = f"_{name}" if name[:1].isdigit() else name
        name = f"_{name}" if name.startswith("sateen") else name
        if _RESERVED_FORMS.fullmatch(name) or name.startswith(of_network):
            name += "_"
        while name in _RESERVED or name.upper() in map(str.upper, names):
            name += "_"
        names.append(name)
    return names
