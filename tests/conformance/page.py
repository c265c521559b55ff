"""The page docs/conformance.md: how many cases of each operator pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import onnx
from cases import Case
from examination import Outcome, Verdict

HEAD = """# ONNX conformance

The backend tests of onnx {version}, without the networks of kind `real`: each case is a model with inputs and the
outputs that they must give, in exactly this type and shape, to a relative tolerance of 10⁻³ (10⁻⁷ absolute). A
refused model counts as not passing.

| cases | pass as given | pass with inputs bound too | refused | wrong | inexact | other failures |
|--:|--:|--:|--:|--:|--:|--:|
| {cases} | {given} ({share}) | {passed} ({passed_share}) | {refused} | {wrong} | {inexact} | {failed} |

*As given*, every input comes at run time, including those that decide shapes: the target shape of `Reshape`, the `k`
of `TopK`. sateen compiles for known shapes; with such inputs *bound* (`from_onnx(..., constants=...)`) they are known.
*Wrong* models compile and give other results. *Inexact* are float16 outputs past the tolerance by no more
than rounding every step to float16 explains, which is how the expected outputs were computed; and Fourier transforms
whose expected zeros are rounding errors of up to four units in the last place of the largest element.

`nox -s conformance` repeats this and compares with `tests/conformance/passing.txt`; with `-- --accept` it writes the
list and this page again.

## What is refused

- Results whose size depends on the values of inputs: Unique, Compress and NonZero of computed data, NonMaxSuppression
  where it may select fewer boxes than it is asked for. sateen compiles for known shapes.
- Shapes that are computed at run time, and given neither by constants nor by dimensions: Reshape, Expand, Slice, ….
- Strings: StringConcat, StringNormalizer, StringSplit, RegexFullMatch, TfIdfVectorizer, comparisons of them.
- Sequences and optional values: Sequence…, SplitToSequence, Optional…, If and Loop over them.
- Random numbers: Bernoulli, Multinomial, Random…, Dropout in training. A compiled model is a function of its inputs.
- Training: Adagrad, Adam, Gradient, Momentum.
- Strings and maps of classic machine learning as inputs: CastMap, DictVectorizer.
- Elements of 2 and 4 bits and float8, which kernels can't compute: Cast, QuantizeLinear and other operators on them.
- ImageDecoder; `sateen run` reads images.

## By operator

Cases of a function's body count for the function.

| operator | cases | as given | with inputs bound too | refused | wrong | inexact | other failures |
|---|--:|--:|--:|--:|--:|--:|--:|
"""


def conformance_page(cases: Mapping[str, Case], outcomes: Sequence[Outcome]) -> str:
    operators: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        operators[cases[outcome.name].operator].append(outcome)
    given, passed, refused, wrong, inexact, failed = _counts(outcomes)
    head = HEAD.format(
        version=onnx.__version__,
        cases=len(outcomes),
        given=given,
        passed=passed,
        refused=refused,
        wrong=wrong,
        inexact=inexact,
        failed=failed,
        share=f"{given / len(outcomes):.1%}",
        passed_share=f"{passed / len(outcomes):.1%}",
    )
    rows = [
        f"| {operator} | {len(group)} | {' | '.join(str(n or '') for n in _counts(group))} |\n"
        for operator, group in sorted(operators.items())
    ]
    return head + "".join(rows)


def _counts(outcomes: Sequence[Outcome]) -> tuple[int, ...]:
    """Passed as given, then the number of each verdict."""
    verdicts = [outcome.verdict for outcome in outcomes]
    given = sum(outcome.verdict is Verdict.PASSED and not outcome.bound for outcome in outcomes)
    return (given, *(verdicts.count(verdict) for verdict in Verdict))
