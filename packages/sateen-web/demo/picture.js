/** Pictures as inputs of a network, and its outputs as a ranking; nothing here needs a page. */

import { ArgumentError, Tensor } from "../src/index.js";

const BRIGHTEST = 255;

/** Height, width and channels of an input of shape [1, C, H, W], [1, H, W, C], or either without the 1. */
export function extentsOf({ name, shape }) {
  const [a, b, c] = shape.length === 4 && shape[0] === 1 ? shape.slice(1) : shape.length === 3 ? shape : [];
  if (a === 1 || a === 3) return { height: b, width: c, channels: a, isChannelsFirst: true };
  if (c === 1 || c === 3) return { height: a, width: b, channels: c, isChannelsFirst: false };
  throw new ArgumentError(
    `expected an input of 1xCxHxW or 1xHxWxC with 1 or 3 channels, found ${name} of [${shape.join(", ")}]`,
  );
}

/**
 * The recipe of `sateen run` in the words of its options: (pixel - mean) / std per channel, pixels from 0 to `range`.
 *
 * `fields` has the texts of `mean` and `std`, numbers with commas between, and `range` and `isBgr`.
 */
export function recipeOf({ mean = "0", std = "1", range = "255", isBgr = false }, channels) {
  const numbers = (text, what) => {
    const found = String(text).split(",").map(Number);
    if (![1, channels].includes(found.length) || !found.every(Number.isFinite)) {
      throw new ArgumentError(`expected 1 number or ${channels} for ${what}, found "${text}"`);
    }
    return found.length === 1 ? Array(channels).fill(found[0]) : found;
  };
  const divisors = numbers(std, "std");
  if (divisors.includes(0)) throw new ArgumentError("expected numbers other than 0 for std");
  return { mean: numbers(mean, "mean"), std: divisors, scale: Number(range) / BRIGHTEST, isBgr };
}

/** The pixels of a canvas (red, green, blue, alpha of each) as the tensor that an input takes. */
export function tensorOf(pixels, input, recipe) {
  const { height, width, channels, isChannelsFirst } = extentsOf(input);
  const area = height * width;
  const numbers = new Float32Array(area * channels);
  for (let channel = 0; channel < channels; channel++) {
    const source = recipe.isBgr ? channels - 1 - channel : channel;
    for (let i = 0; i < area; i++) {
      const pixel = channels === 1 ? greyOf(pixels, 4 * i) : pixels[4 * i + source];
      const value = (pixel * recipe.scale - recipe.mean[channel]) / recipe.std[channel];
      numbers[isChannelsFirst ? channel * area + i : channels * i + channel] = value;
    }
  }
  return Tensor.of(numbers, input.shape, input.dtype);
}

/** The brightness of a pixel (ITU-R BT.601). */
function greyOf(pixels, place) {
  return 0.299 * pixels[place] + 0.587 * pixels[place + 1] + 0.114 * pixels[place + 2];
}

/** The `count` largest values, each with its index and its label. */
export function ranking(values, labels, count) {
  return Array.from(values, (value, index) => ({ value, index, label: labels[index] ?? String(index) }))
    .sort((a, b) => b.value - a.value)
    .slice(0, count);
}

/** The labels of a file: one a line. */
export function labelsOf(text) {
  return text.trim().split(/\r?\n/);
}
