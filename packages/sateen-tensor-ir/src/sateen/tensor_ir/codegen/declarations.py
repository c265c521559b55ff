"""The C header of a library: one declaration per public function, with the requirements on each argument."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.runtime.device import DeviceKind
from sateen.runtime.signature import Parameter, Signature


def c_header(signatures: Sequence[Signature]) -> str:
    """Declarations for C and C++; they need `sateen.h`, which sateen-runtime ships."""
    guard = f"SATEEN_{'_'.join(s.name for s in signatures)[:64].upper()}_H"
    return "\n".join(
        [
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#include <sateen.h>",
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            *(line for s in signatures for line in _declaration(s)),
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            "#endif",
            "",
        ]
    )


def _declaration(signature: Signature) -> list[str]:
    arguments = [f" *   args[{i}]  {_argument(p)}" for i, p in enumerate(signature.parameters)]
    return [
        "/*",
        *arguments,
        f" * n is {len(signature.parameters)}; {_host(signature)}. Returns 0, or a status for sateen_status_message.",
        " */",
        f"int32_t {signature.name}(const sateen_host *host, DLTensor *const *args, int32_t n);",
        "",
    ]


def _host(signature: Signature) -> str:
    """The requirement on the host's table."""
    kinds = dict.fromkeys(p.device for p in signature.parameters if p.device is not DeviceKind.CPU)
    return f"host has devices of kind {' and '.join(map(str, kinds))}" if kinds else "host may be NULL"


def _argument(p: Parameter) -> str:
    strides = "" if p.strides is None else f", strides [{', '.join(map(str, p.strides))}]"
    role = "out" if p.is_output else "in "
    device = "" if p.device is DeviceKind.CPU else f", memory of {p.device}"
    return f"{role} {p.name}: {p.type}{strides}, aligned to {p.alignment} bytes{device}"
