"""LLVM text of users' in a module: the functions that the pragma `import_llvm` brings, and those of instructions."""

from __future__ import annotations

import llvmlite.binding as llvm

from sateen.runtime.errors import CodegenError


def import_text(module: llvm.ModuleRef, text: str, where: str) -> None:
    """Add the functions of a text to a module, in which nothing else sees them.

    Raises CodegenError, which begins with `where`, for text that LLVM refuses, for a function of another type than its
    calls expect or of a name that the module has, and for calls of functions that the text does not define.
    """
    try:
        imported = llvm.parse_assembly(text)
        imported.verify()
    except RuntimeError as error:
        raise CodegenError(f"{where}: LLVM refuses the text: {error}") from error
    defined = [f for f in imported.functions if not f.is_declaration]
    if not defined:
        raise CodegenError(f"{where}: expected text that defines a function, found none")
    called = {f.name: f for f in module.functions}
    for function in defined:
        twin = called.get(function.name)
        if twin is not None and not twin.is_declaration:
            raise CodegenError(f"{where}: the code has a function {function.name!r} already; give it another name")
        if twin is not None and str(twin.global_value_type) != str(function.global_value_type):
            raise CodegenError(
                f"{where}: the code calls {function.name!r} as {twin.global_value_type}, found it defined as "
                f"{function.global_value_type}"
            )
    for function in imported.functions:
        if function.is_declaration and not function.name.startswith("llvm.") and function.name not in called:
            raise CodegenError(f"{where}: the text calls {function.name!r}, which it does not define")
    imported.triple, imported.data_layout = module.triple, module.data_layout
    names = [f.name for f in defined]
    try:
        module.link_in(imported)
    except RuntimeError as error:
        raise CodegenError(f"{where}: LLVM can't add the text to the code: {error}") from error
    for name in names:
        module.get_function(name).linkage = llvm.Linkage.internal
