"""The demo page: its logic in Node, and the page itself in Chromium without a window."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sateen.frontends import from_onnx
from sateen.graph_ir import build, workloads
from sateen.runtime import load

ROOT = Path(__file__).parents[2]
MODELS = Path(__file__).parents[5] / "shared" / "models"


def logic(node: Callable[..., object], program: str, *arguments: object) -> object:
    return node(
        f"import * as picture from {json.dumps((ROOT / 'demo' / 'picture.js').as_uri())};" + program, *arguments
    )


PIXELS = """
const pixels = Uint8ClampedArray.of(10, 20, 30, 255, 40, 50, 60, 255);
const input = (shape, dtype = "float32") => ({ name: "data", shape, dtype });
const of = (shape, fields, dtype) => {
  const parameter = input(shape, dtype);
  const recipe = picture.recipeOf(fields, picture.extentsOf(parameter).channels);
  return picture.tensorOf(pixels, parameter, recipe).numbers();
};
answer([
  of([1, 3, 1, 2], {}),
  of([1, 2, 1, 3], {}),
  of([3, 1, 2], { isBgr: true, mean: "1,2,3" }),
  of([3, 1, 2], { range: "1", std: "0.5" }, "float16").map((x) => Math.round(x * 255)),
  of([1, 1, 1, 2], {}).map(Math.round),
  of([1, 3, 1, 2], {}, "uint8"),
]);
"""


def test_pixels_become_what_the_network_takes(node: Callable[..., object]) -> None:
    assert logic(node, PIXELS) == [
        [10, 40, 20, 50, 30, 60],
        [10, 20, 30, 40, 50, 60],
        [29, 59, 18, 48, 7, 37],
        [20, 80, 40, 100, 60, 120],
        [18, 48],
        [10, 40, 20, 50, 30, 60],
    ]


REFUSED = """
const errors = [];
const attempt = async (work) => errors.push(await errorOf(work));
await attempt(() => picture.extentsOf({ name: "data", shape: [2, 3, 4, 4] }));
await attempt(() => picture.recipeOf({ mean: "1,2" }, 3));
await attempt(() => picture.recipeOf({ std: "x" }, 3));
await attempt(() => picture.recipeOf({ std: "0" }, 3));
answer([errors, picture.ranking([0.1, 0.7, 0.2], ["a", "b"], 2), picture.labelsOf("one\\r\\ntwo\\n")]);
"""


def test_recipes_that_do_not_fit_and_the_ranking(node: Callable[..., object]) -> None:
    errors, best, labels = logic(node, REFUSED)  # type: ignore[misc]
    assert errors == [
        "ArgumentError: expected an input of 1xCxHxW or 1xHxWxC with 1 or 3 channels, found data of [2, 3, 4, 4]",
        'ArgumentError: expected 1 number or 3 for mean, found "1,2"',
        'ArgumentError: expected 1 number or 3 for std, found "x"',
        "ArgumentError: expected numbers other than 0 for std",
    ]
    assert best == [{"value": 0.7, "index": 1, "label": "b"}, {"value": 0.2, "index": 2, "label": "2"}]
    assert labels == ["one", "two"]


BEST = "Array.from(document.querySelectorAll('#best li span:first-child'), (e) => e.textContent)"
DROP = """
{
  const transfer = new DataTransfer();
  transfer.items.add(new File([Uint8Array.from(atob('CONTENT'), (c) => c.charCodeAt(0))], 'NAME'));
  document.getElementById('best').replaceChildren();
  document.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, cancelable: true, bubbles: true }));
}
"""


def test_a_cat_is_recognised(site: tuple[Path, str], open_page: Callable[[str], Any], tmp_path: Path) -> None:
    """SqueezeNet of float16 says what it is known to say of this picture."""
    model, cat = MODELS / "onnx" / "squeezenet_fp16.onnx", MODELS / "images" / "cat.bmp"
    if not model.exists():
        pytest.skip(f"{model} is not there")
    folder, address = site
    graph, params = from_onnx(model)
    build(graph, "wasm32", params=params).save(folder / "squeezenet.sateen")
    shutil.copy(MODELS / "images" / "synset.txt", folder)
    page = open_page(f"{address}/demo/index.html?model=../squeezenet.sateen&labels=../synset.txt&bgr&mean=104,117,123")
    page.wait_for("document.getElementById('message').textContent.startsWith('Choose a picture')")
    page.choose_file("#file", cat)
    page.wait_for("document.querySelectorAll('#best li').length === 5")
    best = page.value(BEST)
    assert best[0] == "n02124075 Egyptian cat"
    assert set(best[1:3]) == {"n02123159 tiger cat", "n02123045 tabby, tabby cat"}
    assert float(page.value("document.getElementById('time').textContent").removesuffix(" ms")) > 0
    (tmp_path / "page.png").write_bytes(page.picture())
    with Image.open(tmp_path / "page.png") as picture:
        assert len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)) > 1000  # the cat is in it


def test_pictures_are_dropped_and_come_from_the_camera(
    site: tuple[Path, str], open_page: Callable[[str], Any], tmp_path: Path
) -> None:
    _, address = site
    artifact = build(workloads.squeezenet(image=64), "wasm32")
    artifact.save(tmp_path / "network.sateen")
    colours = np.random.default_rng(3).integers(0, 255, (64, 64, 3)).astype(np.uint8)
    Image.fromarray(colours).save(tmp_path / "noise.png")
    page = open_page(f"{address}/demo/index.html")
    page.wait_for("document.getElementById('message').textContent === 'Choose a network.'")
    page.choose_file("#network", tmp_path / "network.sateen")
    page.wait_for("document.getElementById('message').textContent.startsWith('Choose a picture')")

    content = base64.b64encode((tmp_path / "noise.png").read_bytes()).decode()
    page.value(DROP.replace("CONTENT", content).replace("NAME", "noise.png"))
    page.wait_for("document.querySelectorAll('#best li').length === 5")
    with load(build(workloads.squeezenet(image=64))) as model:
        data = np.ascontiguousarray(colours.transpose(2, 0, 1)[None]).astype(np.float32)
        values = model.run({"data": data})[0].numpy()[0]
    assert page.value(BEST) == [str(i) for i in np.argsort(-values)[:5]]

    page.value(DROP.replace("CONTENT", "AAAA").replace("NAME", "nothing.png"))
    page.wait_for("document.getElementById('message').textContent === 'Expected a picture, found nothing.png.'")

    page.value("document.getElementById('best').replaceChildren(); document.getElementById('camera').click()")
    page.wait_for("document.querySelectorAll('#best li').length === 5")
    assert page.value("document.getElementById('camera').textContent") == "Stop the camera"
    page.value("document.getElementById('camera').click()")
    assert page.value("document.getElementById('camera').textContent") == "Start the camera"


def test_squeezenet_runs_by_webgpu_where_the_browser_has_it(
    site: tuple[Path, str], open_page: Callable[..., Any], open_webgpu_page: Callable[[str], Any], tmp_path: Path
) -> None:
    """Otherwise by WebAssembly; the page says which, and the labels are the same."""
    folder, address = site
    graph = workloads.squeezenet(image=32)
    for target in ("wasm32", "webgpu"):
        build(graph, target).save(folder / f"{target}.sateen")
    colours = np.random.default_rng(3).integers(0, 255, (32, 32, 3)).astype(np.uint8)
    Image.fromarray(colours).save(tmp_path / "noise.png")

    def told(page: Any) -> tuple[str, object]:
        page.wait_for("document.getElementById('message').textContent.startsWith('Choose a picture')")
        page.choose_file("#file", tmp_path / "noise.png")
        page.wait_for("document.querySelectorAll('#best li').length === 5")
        return page.value("document.getElementById('device').textContent"), page.value(BEST)

    url = f"{address}/demo/index.html?model=../wasm32.sateen&webgpu=../webgpu.sateen"
    where, best = told(open_webgpu_page(url))
    forced, by_wasm = told(open_page(f"{url}&device=wasm"))
    without, again = told(open_page(url))
    assert where.startswith("WebGPU: ")
    assert forced == "WebAssembly, threads: 1"
    assert without.startswith(f"{forced}, since expected a device of WebGPU, found none")
    assert best == by_wasm == again


def test_what_the_page_refuses_it_says(site: tuple[Path, str], open_page: Callable[[str], Any]) -> None:
    folder, address = site
    build(workloads.squeezenet(image=64), "llvm -mtriple=aarch64-linux-gnu").save(folder / "other.sateen")
    page = open_page(f"{address}/demo/index.html?model=../other.sateen")
    page.wait_for("document.getElementById('message').textContent.includes('compile the model again with')")


THREADS = """
(async () => {
  const { load } = await import("/src/index.js");
  const results = [];
  for (const threads of [1, 3]) {
    const model = await load("/network.sateen", { threads });
    const data = Float32Array.from({ length: 784 }, (_, i) => Math.sin(i));
    const { probabilities } = await model.run({ data });
    results.push([model.threads, probabilities.data.join()]);
    model.close();
  }
  return [crossOriginIsolated, results];
})()
"""


def test_an_isolated_page_has_threads(site: tuple[Path, str], open_page: Callable[[str], Any]) -> None:
    folder, address = site
    build(workloads.mlp(), "wasm32-threads").save(folder / "network.sateen")
    isolated, ((one, alone), (three, shared)) = open_page(f"{address}/demo/index.html").value(THREADS)
    assert (isolated, one, three) == (True, 1, 3)
    assert alone == shared
