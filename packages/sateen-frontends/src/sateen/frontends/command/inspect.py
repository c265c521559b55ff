"""`sateen inspect`: the contents of an artifact, or the compiler's result for a model, down to assembly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from pathlib import Path

import click

from sateen.frontends.command.arguments import MODEL, NEW_FILE, NEW_FOLDER, OneOf, json_option
from sateen.frontends.command.artifacts import open_artifact
from sateen.frontends.command.compilation import Compilation, check_target, compilation_options
from sateen.frontends.command.files import is_artifact, keep_sources, writing
from sateen.frontends.command.inspection import (
    ChosenMethod,
    Kernels,
    Passes,
    chosen_methods,
    compile_kernels,
    run_passes,
)
from sateen.frontends.command.open_model import show_open_model
from sateen.frontends.command.output import say, show_json, show_table
from sateen.frontends.command.page import drawing, page, table
from sateen.frontends.command.reading import read_model, sources_of
from sateen.graph_ir.compile import steps_of
from sateen.graph_ir.drawing import draw
from sateen.graph_ir.ops import Fused
from sateen.graph_ir.passes import separations
from sateen.runtime import (
    ArgumentError,
    Artifact,
    CodeForm,
    Device,
    DeviceError,
    Step,
    Target,
    open_device,
)
from sateen.runtime.actions import DeviceBlocks, action_to_json
from sateen.runtime.display import counted, did_you_mean, size
from sateen.runtime.files import replacing
from sateen.tensor_ir import build_functions
from sateen.tensor_ir.codegen import TARGET_KINDS
from sateen.topi.methods import Candidate


@dataclass(frozen=True, slots=True)
class InspectedStep:
    """A step, the bytes of its kernel's code and constants, and the reason why it ends there."""

    step: Step
    code_bytes: int | None
    ends_because: str


@click.command(short_help="What an artifact holds, or a model becomes.")
@click.argument("model", type=MODEL, metavar="MODEL|OUT.sateen")
@click.option("--passes", is_flag=True, help="Of a MODEL, the passes: their times, and the nodes that they leave.")
@click.option("--candidates", is_flag=True, help="Of a MODEL, the methods of its operators, and others.")
@click.option("--dump", type=NEW_FOLDER, metavar="FOLDER", help="Write the graph of a MODEL after each pass to a file.")
@click.option("--html", type=NEW_FILE, metavar="FILE", help="Write a page: the summary, a MODEL drawn, the steps.")
@click.option("--svg", type=NEW_FILE, metavar="FILE", help="Write the drawing of a MODEL.")
@click.option("--kernel", "name", metavar="NAME", help="Show one kernel of a MODEL.")
@click.option(
    "--show",
    type=OneOf(["graph", "ir", "asm"]),
    show_default="ir",
    help="What of --kernel: the nodes that it computes, its loops, its assembly or the text that it is.",
)
@compilation_options
@json_option
def inspect(
    model: Path,
    passes: bool,
    candidates: bool,
    dump: Path | None,
    html: Path | None,
    svg: Path | None,
    name: str | None,
    show: str | None,
    compilation: Compilation,
    as_json: bool,
) -> None:
    """Show the inputs, outputs, target and sizes of OUT.sateen, or the steps that MODEL becomes.

    A step calls a kernel, which computes one or more nodes of the model; equal steps share one. A step ends where its
    result must be in memory, and tells why. Of a MODEL with open dimensions its
    operators are shown, with the types that follow from them.
    """
    of_models = {"--passes": passes, "--candidates": candidates, "--dump": dump, "--svg": svg, "--kernel": name}
    views = [option for option, given in {**of_models, "--html": html, "--json": as_json}.items() if given]
    if len(views) > 1:
        raise click.UsageError(f"{' and '.join(views)}: expected one at a time")
    for option, place in (("--html", html), ("--svg", svg)):
        if place is not None:
            keep_sources(option, [place], sources_of(model, compilation))
    if show is not None and name is None:
        raise click.UsageError("--show is for --kernel NAME")
    if is_artifact(model):
        if any(of_models.values()):
            raise click.UsageError(
                f"{views[0]}: expected a model, found {model}, which is compiled already; give the model that it was "
                "compiled from"
            )
        artifact = open_artifact(model, compilation)
        if as_json:
            show_json(_artifact_summary(artifact))
        elif html is not None:
            _write(html, _artifact_page(model, artifact))
        else:
            _show_artifact(model, artifact)
        return
    check_target(compilation)
    reading = read_model(model, compilation)
    if reading.open is not None and not views:
        show_open_model(model, reading.open)
    found = run_passes(model, reading, compilation)
    if passes:
        _show_passes(found)
    elif candidates:
        _show_candidates(chosen_methods(found, compilation))
    elif dump is not None:
        texts = {dump / name: text for name, text in _texts(found).items()}
        keep_sources("--dump", texts, sources_of(model, compilation))
        with writing(dump):
            dump.mkdir(parents=True, exist_ok=True)
            for place, text in texts.items():
                with replacing(place) as file:
                    file.write(text.encode())
    else:
        kernels = compile_kernels(found.optimised, compilation)
        if name is not None:
            say(_kernel(kernels, name, show or "ir", compilation))
        elif svg is not None:
            _write(svg, _drawing(kernels))
        elif html is not None:
            _write(html, _model_page(model, found, kernels, compilation))
        elif as_json:
            show_json(_model_summary(found, kernels, compilation))
        else:
            _show_model(model, found, kernels, compilation)


def _show_candidates(methods: list[ChosenMethod]) -> None:
    """A line for each operator: the estimate in 1000 cycles, and the time in the records."""

    def text(candidate: Candidate) -> str:
        return f"{candidate.method} ({candidate.cycles / 1e3:.1f})"

    show_table(
        ("nodes", "problem", "chosen", "kcycles", "measured us", "rejected (kcycles)"),
        [
            (
                " + ".join(c.nodes),
                str(c.problem),
                str(c.chosen.method),
                f"{c.chosen.cycles / 1e3:.1f}",
                f"{c.seconds[c.chosen.method] * 1e6:.1f}" if c.chosen.method in c.seconds else "",
                ", ".join(map(text, c.rejected)),
            )
            for c in methods
        ],
        right=("kcycles", "measured us"),
    )


def _method_to_json(c: ChosenMethod) -> dict[str, object]:
    def to_json(candidate: Candidate) -> dict[str, object]:
        seconds = c.seconds.get(candidate.method)
        return {"method": str(candidate.method), "cycles": candidate.cycles, "measured_seconds": seconds}

    return {
        "nodes": list(c.nodes),
        "problem": str(c.problem),
        "chosen": to_json(c.chosen),
        "rejected": [to_json(r) for r in c.rejected],
    }


def _texts(passes: Passes) -> dict[str, str]:
    """The text of the graph as imported, and after each pass that changed it, by file name."""
    texts = {"00_imported.txt": f"{passes.imported}\n"}
    for i, run in enumerate(passes.runs, 1):
        if run.after is not run.before:
            texts[f"{i:02}_{run.name}.txt"] = f"{run.after}\n"
    return texts


def _kernel(kernels: Kernels, name: str, show: str, compilation: Compilation) -> str:
    """The nodes, loop IR or assembly of a kernel. Raises ArgumentError if there is none of this name."""
    network = kernels.network
    functions = {f.name: f for f in (*network.kernels, *network.host_kernels)}
    if name not in functions:
        close = did_you_mean(name, functions)
        raise ArgumentError(f"--kernel {name}: expected one of {', '.join(functions)}{close}")
    if show == "asm":
        target = compilation.target_host if functions[name] in network.host_kernels else compilation.target
        module = build_functions([functions[name]], target)
        return module.assembly() if TARGET_KINDS[module.target.kind].has_libraries else module.source
    if show == "graph":
        op = kernels.nodes[name].op
        assert isinstance(op, Fused)
        return str(op.body)
    return str(functions[name])


def _show_passes(passes: Passes) -> None:
    rows = [("(imported)", "", str(len(passes.imported.nodes)), "")]
    for run in passes.runs:
        unchanged = "no change" if run.after is run.before else ""
        rows.append((run.name, f"{run.seconds * 1e3:.1f}", str(len(run.after.nodes)), unchanged))
    show_table(("pass", "ms", "nodes", ""), rows, right=("ms", "nodes"))


def _steps(passes: Passes, kernels: Kernels) -> list[InspectedStep]:
    network = kernels.network
    kept = separations(passes.optimised)
    nodes = [node for node in network.graph.nodes if node not in network.plan.free]
    steps = steps_of(network.graph, network.plan.free, network.calls)
    return [
        InspectedStep(s, kernels.code_bytes.get(s.kernel), kept[node.outputs[0]])
        for s, node in zip(steps, nodes, strict=True)
    ]


_COLUMNS = ("step", "kernel", "code", "MFLOP", "memory", "result", "ends because", "nodes")
_RIGHT = ("step", "code", "MFLOP", "memory")


def _show_model(path: Path, passes: Passes, kernels: Kernels, compilation: Compilation) -> None:
    steps = _steps(passes, kernels)
    head = f"{path.name}: {_headline(passes, kernels, steps)}"
    say("\n".join([head, *_lines(_model_facts(passes, kernels, steps, compilation))]) + "\n")
    show_table(_COLUMNS, [_row(i, s) for i, s in enumerate(steps)], right=_RIGHT)


def _headline(passes: Passes, kernels: Kernels, steps: Sized) -> str:
    nodes = counted(len(passes.imported.nodes), "node")
    return f"{nodes} in {counted(len(steps), 'step')} of {counted(len(kernels.code_bytes), 'kernel')}"


def _model_facts(
    passes: Passes, kernels: Kernels, steps: Sequence[InspectedStep], compilation: Compilation
) -> list[tuple[str, str]]:
    graph, plan = kernels.network.graph, kernels.network.plan
    read = sum(plan.parameter_blocks.values())
    return [
        ("target", str(Target.of(compilation.target))),
        *(("input", f"{v.name}: {v.type}") for v in graph.inputs),
        *(("output", f"{v.name}: {v.type}") for v in graph.outputs),
        ("operations", f"{sum(s.step.operations for s in steps) / 1e9:.3g} GFLOP"),
        *([("code", size(sum(code)))] if (code := [n for n in kernels.code_bytes.values() if n is not None]) else []),
        ("parameters", f"{size(passes.imported.parameter_bytes)} as trained, {size(read)} as kernels read them"),
        ("workspace", f"{size(sum(plan.workspaces.values()))}; {size(plan.least_bytes)} live at one time"),
    ]


def _lines(facts: Sequence[tuple[str, str]]) -> list[str]:
    return [f"  {name:<12}{fact}" for name, fact in facts]


def _drawing(kernels: Kernels) -> str:
    """The fused network, each node with the kernel that it calls."""
    network = kernels.network
    return draw(network.graph, {n: kernel for n, kernel in network.calls.items() if n not in network.plan.free})


def _model_page(path: Path, passes: Passes, kernels: Kernels, compilation: Compilation) -> str:
    steps = _steps(passes, kernels)
    facts = [("model", _headline(passes, kernels, steps)), *_model_facts(passes, kernels, steps, compilation)]
    rows = [_row(i, s) for i, s in enumerate(steps)]
    return page(path.name, facts, [("Network", drawing(_drawing(kernels))), ("Steps", table(_COLUMNS, rows, _RIGHT))])


def _artifact_page(path: Path, artifact: Artifact) -> str:
    header = ("step", "kernel", "MFLOP", "memory", "result", "nodes")
    cells = [_row(i, InspectedStep(step, None, "")) for i, step in enumerate(artifact.steps)]
    rows = [(step, kernel, flop, memory, result, nodes) for step, kernel, _, flop, memory, result, _, nodes in cells]
    steps = [("Steps", table(header, rows, _RIGHT))] if rows else []
    return page(path.name, [("made by", artifact.producer), *_artifact_facts(artifact)], steps)


def _write(place: Path, text: str) -> None:
    with writing(place), replacing(place) as file:
        file.write(text.encode())


def _row(position: int, s: InspectedStep) -> tuple[str, ...]:
    return (
        str(position),
        s.step.kernel,
        "" if s.code_bytes is None else size(s.code_bytes),
        f"{s.step.operations / 1e6:.3g}" if s.step.operations else "",
        size(s.step.bytes),
        ", ".join(s.step.outputs),
        s.ends_because,
        str(s.step),
    )


def _model_summary(passes: Passes, kernels: Kernels, compilation: Compilation) -> dict[str, object]:
    network, steps = kernels.network, _steps(passes, kernels)
    return {
        "name": network.graph.name,
        "target": str(Target.of(compilation.target)),
        "inputs": {v.name: str(v.type) for v in network.graph.inputs},
        "outputs": {v.name: str(v.type) for v in network.graph.outputs},
        "operations": sum(s.step.operations for s in steps),
        "imported_operators": dict(Counter(n.op.op_name() for n in passes.imported.nodes)),
        "code_bytes": dict(kernels.code_bytes),
        "trained_bytes": passes.imported.parameter_bytes,
        "parameter_bytes": sum(network.plan.parameter_blocks.values()),
        "workspace_bytes": sum(network.plan.workspaces.values()),
        "least_workspace_bytes": network.plan.least_bytes,
        "passes": [
            {"name": r.name, "nodes": len(r.after.nodes), "changed": r.after is not r.before, "seconds": r.seconds}
            for r in passes.runs
        ],
        "methods": [_method_to_json(c) for c in chosen_methods(passes, compilation)],
        "steps": [{**s.step.to_json(), "code_bytes": s.code_bytes, "ends_because": s.ends_because} for s in steps],
    }


def _show_artifact(path: Path, artifact: Artifact) -> None:
    head = f"{path}: {size(path.stat().st_size)}, made by {artifact.producer}"
    say("\n".join([head, *_lines(_artifact_facts(artifact))]))


def _artifact_facts(artifact: Artifact) -> list[tuple[str, str]]:
    return [
        ("target", artifact.target),
        ("runs here", _runs_here(artifact)),
        *(("input", str(p)) for p in artifact.inputs),
        *(("output", f"{p.name}: {p.type}") for p in artifact.outputs),
        ("kernels" if artifact.form is CodeForm.KERNELS else "library", size(len(artifact.code))),
        *([("launches", str(len(artifact.launches)))] if artifact.launches else []),
        *(("on", f"{m.device}: {_held(m)}") for m in artifact.placed),
        ("parameters", artifact.parameter_text),
        ("workspace", size(artifact.workspace_bytes)),
        *([] if artifact.stack_bytes is None else [("stack", size(artifact.stack_bytes))]),
        ("steps", _timing(artifact)),
        *(("option", f"{name} = {value}") for name, value in artifact.options.items()),
        *(("alias", f"{output} may reuse the memory of {name}") for output, name in artifact.aliases.items()),
    ]


def _held(memory: DeviceBlocks) -> str:
    return f"parameters {size(memory.parameters)}, workspace {size(memory.workspace)}"


def _timing(artifact: Artifact) -> str:
    if artifact.kernels:
        return f"{len(artifact.steps)}, which sateen profile measures"
    return f"{len(artifact.steps)}, timed" if artifact.steps else "not timed"


def _runs_here(artifact: Artifact) -> str:
    target = Target.parse(artifact.target)
    if artifact.form is CodeForm.KERNELS:
        return _runs_on_device(target)
    if not artifact.form.is_loaded:
        return f"no: {artifact.form.value}, which programs are built with"
    missing = Target.host().missing_features(target)
    return f"no, it needs {', '.join(missing)}" if missing else "yes"


def _runs_on_device(target: Target) -> str:
    if compiler := target.kernel_compiler:
        return f"no: text for {compiler}, which no driver takes"
    try:
        device = open_device(Device(target.device_kind))
    except DeviceError as error:
        return f"no: {error}"
    return f"yes, on {device.description}"


def _artifact_summary(artifact: Artifact) -> dict[str, object]:
    return {
        "producer": artifact.producer,
        "target": artifact.target,
        "runs_here": _runs_here(artifact).startswith("yes"),
        "inputs": [p.to_json() for p in artifact.inputs],
        "outputs": [p.to_json() for p in artifact.outputs],
        "library_bytes": len(artifact.code),
        "parameter_bytes": len(artifact.parameters),
        "parameter_form": "packed" if artifact.packing is None else "trained",
        "packed_bytes": artifact.packed_bytes,
        "workspace_bytes": artifact.workspace_bytes,
        "stack_bytes": artifact.stack_bytes,
        "options": dict(artifact.options),
        "aliases": dict(artifact.aliases),
        "steps": [s.to_json() for s in artifact.steps],
        "launches": list(map(action_to_json, artifact.actions)),
        "placed": [memory.to_json() for memory in artifact.placed],
    }
