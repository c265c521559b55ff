"""`sateen export`: a network in the form that a program in another language uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import click

from sateen.frontends.command.arguments import MODEL, NEW_FILE, OneOf, json_option
from sateen.frontends.command.artifacts import compile_model, open_artifact
from sateen.frontends.command.compilation import Compilation, check_target, compilation_options
from sateen.frontends.command.files import is_artifact, keep_sources
from sateen.frontends.command.kernel_folder import write_kernels
from sateen.frontends.command.memory_limits import MemoryLimits, memory_options
from sateen.frontends.command.npm_package import write_npm_package
from sateen.frontends.command.output import say, show_json
from sateen.frontends.command.parameter_growth import ParameterGrowth
from sateen.frontends.command.reading import sources_of
from sateen.runtime import ArgumentError, Artifact, DeviceKind, Target
from sateen.runtime.display import counted, size


@dataclass(frozen=True, slots=True)
class Form:
    """A form of exports: its name, the target where none is given, the suffix of the file that describes the code
    beside it, what writes it, and the form of parameters in it unless the command line names one.

    With `static` a model is compiled to a static archive. `also` is a kind of target that it takes besides that of
    `target`.
    """

    name: str
    target: str
    beside: str
    write: Callable[[Artifact, Path, str], None]
    static: bool = False
    also: str = ""
    parameters: str = "packed"


FORMS = {
    form.name: form
    for form in (
        Form("shared", "llvm", ".h", Artifact.export_library),
        Form("static", "llvm", ".h", Artifact.export_archive, static=True),
        Form("c", "c", ".h", Artifact.export_source),
        Form("wasm", "wasm32", ".json", Artifact.export_module),
        Form("npm", "wasm32", "", write_npm_package, also="webgpu", parameters="trained"),
        Form("kernels", "opencl", "", write_kernels),
    )
}


@click.command(short_help="A network as a library for programs.")
@click.argument("model", type=MODEL)
@click.option(
    "--as",
    "form",
    type=OneOf([*FORMS]),
    required=True,
    help="shared: a library that is loaded; static: an archive that a program links; c: C99 text; wasm: a module of "
    "WebAssembly; npm: a folder that Node and bundlers import; kernels: a folder with the code of a device, "
    "launches and parameters.",
)
@click.option("-o", "--output", required=True, type=NEW_FILE, metavar="FILE")
@click.option(
    "--prefix",
    default="network",
    show_default=True,
    metavar="NAME",
    help="What the names in the header and those of all symbols begin with; the name of the module or package.",
)
@click.option("--webgpu", is_flag=True, help="npm: with a second artifact, which browsers that have WebGPU run.")
@memory_options
@compilation_options
@json_option
def export(
    model: Path,
    form: str,
    output: Path,
    prefix: str,
    webgpu: bool,
    limits: MemoryLimits,
    compilation: Compilation,
    as_json: bool,
) -> None:
    """Write the network of MODEL, a model or an artifact, with its parameters: a library and a C header beside it
    (ending in .h), a module and its description (.json), or a folder with a package of npm or with kernels.

    An artifact has code of one form: kernels if it is for a device, a module if it is for WebAssembly, a static archive
    if it is for a machine without a system, C if its target is of that kind, otherwise a library. A model is compiled
    for the form that is asked for.
    """
    chosen = FORMS[form]
    beside = output.with_suffix(chosen.beside)
    keep_sources("-o", [output, beside], sources_of(model, compilation))
    if webgpu and (form != "npm" or is_artifact(model) or compilation.target == "webgpu"):
        raise click.UsageError("--webgpu is for --as npm, of a model that is compiled for WebAssembly, too")
    if not is_artifact(model):
        compilation = _for_form(compilation, chosen)
    growth = ParameterGrowth()
    artifact = open_artifact(model, compilation, static=chosen.static, observer=growth)
    limits.check(artifact)
    write = chosen.write
    if webgpu:
        write = partial(write_npm_package, webgpu=compile_model(model, replace(compilation, target="webgpu")))
    try:
        write(artifact, output, prefix)
    except ArgumentError as error:
        raise click.BadParameter(str(error), param_hint="--prefix") from None
    if output.is_dir():
        named = {"package": prefix} if form == "npm" else {"launches": len(artifact.launches)}
        _show_folder(output, artifact, named, as_json=as_json)
    elif as_json:
        show_json(
            {
                "output": str(output),
                "header" if chosen.beside == ".h" else "description": str(beside),
                "bytes": output.stat().st_size,
                "target": artifact.target,
                "prefix": prefix,
            }
        )
    else:
        say(f"{output}: {size(output.stat().st_size)}, and {beside.name}")
    if not as_json and artifact.packing is None:
        growth.tell()


def _show_folder(folder: Path, artifact: Artifact, named: Mapping[str, str | int], *, as_json: bool) -> None:
    written = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if as_json:
        show_json({"output": str(folder), "bytes": written, "target": artifact.target, **named})
    else:
        package = named.get("package")
        content = counted(len(artifact.launches), "launched kernel") if package is None else f"package {package}"
        say(f"{folder}: {size(written)}, {content}")


def _for_form(compilation: Compilation, form: Form) -> Compilation:
    """The options of compiling for a form. Raises UsageError for a target that gives code of another kind."""
    if compilation.parameters is None:
        compilation = replace(compilation, parameters=form.parameters)
    if compilation.target == "llvm":
        return replace(compilation, target=form.target)
    check_target(compilation)
    found, expected = (Target.of(target) for target in (compilation.target, form.target))
    if DeviceKind.CPU not in (found.device_kind, expected.device_kind) or found.kind == form.also:
        return compilation
    if found.kind != expected.kind:
        others = f" and {form.also}" if form.also else ""
        if expected.device_kind is not DeviceKind.CPU:
            others = " and other devices"
        raise click.UsageError(
            f"--as {form.name} is for targets of kind {expected.kind}{others}, found one of kind {found.kind}"
        )
    return compilation
