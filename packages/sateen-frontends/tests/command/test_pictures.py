"""Pictures as inputs: size, order of channels, range of pixels, and the kinds of files there are."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sateen.frontends.command.pictures import Recipe, read_picture
from sateen.runtime import ArgumentError, DType, Parameter

image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

RED = (250, 100, 50)
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of torchvision, for pixels of 0 to 1."""


@pytest.fixture
def red(tmp_path):
    path = tmp_path / "red.dat"
    image.new("RGB", (4, 8), RED).save(path, "PNG")
    return path


def parameter(*shape, dtype="float32"):
    return Parameter("data", DType.of(dtype), shape)


def pixels(path, *shape, recipe=Recipe()):  # noqa: B008  # a frozen value
    """The picture as [H, W, C] of float32."""
    return read_picture(path, parameter(*shape), recipe)


def saved(picture, path, kind, **options):
    picture.save(path, kind, **options)
    return path


class TestChannels:
    def test_they_come_first_or_last_as_the_input_has_them(self, red):
        first, last = pixels(red, 1, 3, 6, 5), pixels(red, 6, 5, 3)
        np.testing.assert_array_equal(first[0].transpose(1, 2, 0), last)
        np.testing.assert_array_equal(first[0, :, 0, 0], RED)

    def test_mean_and_std_follow_their_order(self, red):
        array = pixels(red, 1, 3, 2, 2, recipe=Recipe(bgr=True, mean=(50, 100, 0), std=(1, 2, 250)))
        np.testing.assert_array_equal(array[0, :, 0, 0], [0, 0, 1])

    def test_one_channel_has_no_order(self, red):
        words = "--bgr is the order of three channels, but input data: float32[1, 1, 2, 2] has one, grey; leave it out"
        with pytest.raises(ArgumentError, match=re.escape(words)):
            pixels(red, 1, 1, 2, 2, recipe=Recipe(bgr=True))

    def test_numbers_must_be_one_per_channel(self, red):
        with pytest.raises(ArgumentError, match=r"--mean: expected 1 number or 3, one per channel; found 2"):
            pixels(red, 1, 3, 2, 2, recipe=Recipe(mean=(10.0, 20.0)))


class TestRange:
    def test_pixels_are_0_to_255_or_0_to_1(self, red):
        np.testing.assert_array_equal(pixels(red, 2, 2, 3)[0, 0], RED)
        np.testing.assert_allclose(pixels(red, 2, 2, 3, recipe=Recipe(brightest=1))[0, 0], np.array(RED) / 255)

    def test_mean_and_std_are_in_the_same_range(self, red):
        small = pixels(red, 2, 2, 3, recipe=Recipe(mean=MEAN, std=STD, brightest=1))
        large = pixels(red, 2, 2, 3, recipe=Recipe(mean=tuple(255 * m for m in MEAN), std=tuple(255 * s for s in STD)))
        np.testing.assert_allclose(small, large, rtol=1e-5)
        np.testing.assert_allclose(small[0, 0], (np.array(RED) / 255 - MEAN) / STD, rtol=1e-5)

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"mean": MEAN}, "--mean 0.485,0.456,0.406 is for pixels of 0 to 1, but they are 0 to 255; give --range 1"),
            ({"std": (0.5,)}, "--std 0.5 is for pixels of 0 to 1, but they are 0 to 255; give --range 1 as well, or"),
            ({"mean": (127.5,), "std": (0.5,)}, "--std 0.5 is for pixels of 0 to 1"),
            ({"mean": (104, 117, 123), "brightest": 1}, "--mean 104,117,123 is for pixels of 0 to 255, but --range 1"),
            ({"std": (58.4,), "brightest": 1}, "makes them 0 to 1; leave it out, or divide by 255"),
            ({"std": (1.0, 0.0, 1.0)}, "--std: expected numbers other than 0"),
        ],
    )
    def test_numbers_of_the_other_range_are_refused(self, given, words):
        with pytest.raises(ArgumentError, match=re.escape(words)):
            Recipe(**given)

    @pytest.mark.parametrize(
        "given",
        [
            {"mean": MEAN, "std": STD, "brightest": 255},
            {"mean": (104, 117, 123)},
            {"mean": (127.5,), "std": (127.5,)},
            {"std": (255.0,)},
            {"mean": (0.0, 0.0, 3.0)},
        ],
    )
    def test_numbers_that_may_be_meant_are_taken(self, given):
        assert Recipe(**given)

    def test_whole_numbers_are_not_normalised(self, red):
        whole = parameter(1, 1, 2, 2, dtype="uint8")
        assert read_picture(red, whole, Recipe()).dtype == np.uint8
        for recipe in (Recipe(mean=(10.0,)), Recipe(std=(10.0,)), Recipe(brightest=1)):
            with pytest.raises(ArgumentError, match="takes whole numbers; expected no --mean, no --std and no --ra"):
                read_picture(red, whole, recipe)


class TestSize:
    @pytest.fixture
    def columns(self, tmp_path):
        """12 x 4 pixels, as bright as the number of their column."""
        values = np.broadcast_to(np.arange(12, dtype=np.uint8) * 20, (4, 12))
        return saved(image.fromarray(np.ascontiguousarray(values)), tmp_path / "columns", "PNG")

    def test_a_picture_is_stretched(self, columns):
        assert pixels(columns, 4, 12, 1)[0, :, 0].tolist() == [20 * i for i in range(12)]
        assert pixels(columns, 4, 4, 1)[0, :, 0].tolist() == pytest.approx([20, 80, 140, 200], abs=8)

    def test_or_its_centre_is_taken(self, columns):
        assert pixels(columns, 4, 4, 1, recipe=Recipe(crop=4))[0, :, 0].tolist() == [80, 100, 120, 140]
        assert pixels(columns, 2, 4, 1, recipe=Recipe(crop=4))[0, :, 0].tolist() == [80, 100, 120, 140]

    @pytest.mark.parametrize(("width", "height"), [(500, 375), (375, 500), (301, 300), (256, 256)])
    def test_the_centre_is_that_of_torchvision(self, tmp_path, width, height):
        noise = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
        path = saved(image.fromarray(noise), tmp_path / "noise", "PNG")
        long = int(256 * max(width, height) / min(width, height))
        size = (256, long) if width <= height else (long, 256)
        left, top = (round((extent - 224) / 2.0) for extent in size)
        resized = image.fromarray(noise).resize(size, image.Resampling.BILINEAR)
        expected = resized.crop((left, top, left + 224, top + 224))
        np.testing.assert_array_equal(pixels(path, 224, 224, 3, recipe=Recipe(crop=256)), np.asarray(expected))

    def test_a_centre_that_is_too_small_is_refused(self, columns):
        words = "--crop 3: expected at least 8, since the network takes 8 x 4 pixels; the picture becomes 9 x 3"
        with pytest.raises(ArgumentError, match=re.escape(words)):
            pixels(columns, 4, 8, 1, recipe=Recipe(crop=3))


class TestKinds:
    def test_grey_becomes_three_channels_and_colour_becomes_one(self, tmp_path, red):
        grey = saved(image.new("L", (2, 2), 70), tmp_path / "grey", "PNG")
        assert pixels(grey, 2, 2, 3)[0, 0].tolist() == [70, 70, 70]
        assert pixels(red, 2, 2, 1)[0, 0, 0] == pytest.approx(0.299 * 250 + 0.587 * 100 + 0.114 * 50, abs=1)

    @pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
    def test_what_is_transparent_is_white(self, tmp_path, mode):
        picture = image.new("RGBA", (2, 2), (10, 10, 10, 0)).convert("LA" if mode == "LA" else "RGBA")
        options = {}
        if mode == "P":
            picture, options = image.new("P", (2, 2), 0), {"transparency": 0}
        path = saved(picture, tmp_path / "clear", "PNG", **options)
        assert pixels(path, 2, 2, 3)[0, 0].tolist() == [255, 255, 255]

    def test_half_transparency_is_mixed(self, tmp_path):
        path = saved(image.new("RGBA", (2, 2), (0, 0, 0, 128)), tmp_path / "half", "PNG")
        assert pixels(path, 2, 2, 3)[0, 0].tolist() == pytest.approx([127, 127, 127], abs=1)

    @pytest.mark.parametrize("kind", ["PNG", "TIFF"])
    def test_sixteen_bits_become_eight(self, tmp_path, kind):
        deep = np.array([[0, 257 * 100], [257 * 200, 65535]], np.uint16)
        path = saved(image.fromarray(deep), tmp_path / "deep", kind)
        assert pixels(path, 2, 2, 1)[:, :, 0].tolist() == [[0, 100], [200, 255]]
        assert pixels(path, 2, 2, 3)[1, 1].tolist() == [255, 255, 255]

    @pytest.mark.parametrize("dtype", [np.int32, np.float32])
    def test_numbers_without_a_brightest_one_are_refused(self, tmp_path, dtype):
        path = saved(image.fromarray(np.ones((2, 2), dtype)), tmp_path / "numbers", "TIFF")
        with pytest.raises(ArgumentError, match=r"its pixels are numbers of 32 bits \(mode [IF]\), which have no"):
            pixels(path, 2, 2, 1)

    def test_inks_become_light(self, tmp_path):
        path = saved(image.new("CMYK", (8, 8), (0, 255, 255, 0)), tmp_path / "inks", "JPEG", quality=100)
        assert pixels(path, 8, 8, 3)[4, 4].tolist() == pytest.approx([255, 0, 0], abs=3)

    def test_a_picture_that_was_taken_with_the_camera_turned_is_upright(self, tmp_path):
        picture = image.new("RGB", (4, 2), "white")
        picture.putpixel((0, 0), (0, 0, 0))
        exif = picture.getexif()
        exif[0x0112] = 6  # turn right by a quarter to see it as it was
        path = saved(picture, tmp_path / "turned", "PNG", exif=exif)
        upright = pixels(path, 4, 2, 3)
        assert upright[0, 1].tolist() == [0, 0, 0]
        assert upright[0, 0].tolist() == [255, 255, 255]


class TestCommand:
    def test_a_network_runs_on_a_picture(self, sateen, picture_network, red):
        ran = sateen("run", picture_network, "--input", red, "--std", "10", "--output", "out.npz")
        assert ran.status == 0
        np.testing.assert_allclose(np.load("out.npz")["out"].ravel(), [25, 10, 5])

    def test_options_say_how(self, sateen, picture_network, red):
        options = ("--range", "1", "--mean", "0.5", "--std", "0.5", "--crop", "4", "--bgr")
        ran = sateen("run", picture_network, "--input", red, *options, "--output", "out.npz")
        assert ran.status == 0
        expected = (np.array([50, 100, 250]) / 255 - 0.5) * 2
        np.testing.assert_allclose(np.load("out.npz")["out"].ravel(), expected, rtol=1e-5)

    @pytest.mark.parametrize(
        ("given", "found"),
        [
            (["--mean", "104,117,123", "--bgr"], "--bgr and --mean"),
            (["--std", "58"], "--std"),
            (["--range", "255"], "--range"),
            (["--crop", "4"], "--crop"),
        ],
    )
    def test_options_of_pictures_need_a_picture(self, sateen, tmp_path, given, found):
        (tmp_path / "absent.onnx").write_bytes(b"never read")
        np.save(tmp_path / "data.npy", np.ones((1, 3, 2, 2), np.float32))
        for source in (["--input", "data.npy"], ["--random", "1"]):
            ran = sateen("run", "absent.onnx", *source, *given)
            assert ran.status == 2
            assert f"{found}: expected an input that is a picture, found none; arrays and random ones" in ran.err

    def test_numbers_of_the_other_range_are_refused_before_anything_is_compiled(self, sateen, tmp_path):
        (tmp_path / "absent.onnx").write_bytes(b"never read")
        ran = sateen("run", "absent.onnx", "--input", "red.dat", "--mean", "0.485,0.456,0.406")
        assert ran.status == 1
        assert ran.err.startswith("ArgumentError: --mean 0.485,0.456,0.406 is for pixels of 0 to 1, but they are 0 to")
