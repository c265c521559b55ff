"""Why some operators of torch can't be read, and what helps."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.refusals import BEGIN, BRING, DATA_DECIDES, END, Refusal, refusal_by
from sateen.frontends.core.report import UnsupportedError

CUT = f"{END}; or {BEGIN}"
_DECOMPOSE = "save what program.run_decompositions() gives"
_RANDOM = ("it gives random numbers", "make its result an input: inputs=[...], or --from NAME")
_COMPLEX = ("complex numbers are not supported", CUT)

REFUSALS: Mapping[str, Refusal] = {
    **dict.fromkeys(
        (
            "bernoulli", "exponential", "geometric", "log_normal", "multinomial", "normal", "normal_functional",
            "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "random", "randperm",
            "uniform", "cauchy",
        ),
        _RANDOM,
    ),
    **dict.fromkeys(
        (
            "_unique2", "argwhere", "bincount", "combinations", "masked_select", "nonzero", "nonzero_numpy",
            "torchvision.nms", "unique_consecutive", "unique_dim",
        ),
        DATA_DECIDES,
    ),
    **dict.fromkeys(
        ("_fft_c2c", "_fft_c2r", "_fft_r2c", "complex", "imag", "istft", "polar", "real", "stft", "view_as_complex",
         "view_as_real"),
        _COMPLEX,
    ),
}  # fmt: skip
"""By operator, as `key_of` names them."""
_DECOMPOSED = frozenset({
    "_chunk_cat", "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "affine_grid_generator",
    "cartesian_prod", "col2im", "conj_physical", "cross", "cumulative_trapezoid", "diagflat", "fft_fftshift",
    "fft_ifftshift", "gradient", "isin", "isreal", "linalg_matrix_norm", "linalg_matrix_power", "linalg_vander",
    "logaddexp2", "logspace", "margin_ranking_loss", "max_unpool2d", "max_unpool3d", "msort", "multi_margin_loss",
    "multilabel_margin_loss", "nanmean", "nanquantile", "poisson_nll_loss", "quantile", "renorm", "resize",
    "resolve_conj", "resolve_neg", "soft_margin_loss", "special_entr", "special_ndtr", "special_xlog1py", "trapezoid",
    "trapz", "triplet_margin_loss",
})  # fmt: skip
"""Operators that torch decomposes into others that are read (run_decompositions of torch 2.13)."""


def refusal_of(target: str) -> UnsupportedError:
    """The refusal of an operator such as `aten.rand.default`, which no converter takes."""
    name = target.removeprefix("aten.").removesuffix(".default")
    operator = name if name in REFUSALS else name.split(".")[0].rstrip("_")
    if target.startswith("torch._functorch."):  # the inside of higher-order operators that torch has as functions
        return refusal_by(REFUSALS, target, remedy=_DECOMPOSE)
    if operator.startswith("fft_") and operator not in _DECOMPOSED:
        return UnsupportedError(*_COMPLEX)
    return refusal_by(REFUSALS, operator, remedy=_DECOMPOSE if operator in _DECOMPOSED else f"{BRING}, or {CUT}")
