/** How long calls take, keeping every sample. */

import { ArgumentError } from "./errors.js";

/** `samples` are seconds per call, in the order measured, each the mean of `number` calls in a row. */
export class TimeResult {
  constructor(samples, number) {
    this.samples = Object.freeze(samples);
    this.number = number;
    Object.freeze(this);
  }

  get median() {
    return quantile(this.samples, 0.5);
  }

  get minimum() {
    return Math.min(...this.samples);
  }

  /** The range between the quartiles over the median. */
  get spread() {
    return (quantile(this.samples, 0.75) - quantile(this.samples, 0.25)) / this.median;
  }

  toString() {
    const microseconds = (seconds) => (seconds * 1e6).toFixed(3);
    const rest = `minimum ${microseconds(this.minimum)}, spread ${(this.spread * 100).toFixed(1)}%`;
    return `${microseconds(this.median)} us (median of ${this.samples.length}, ${rest})`;
  }
}

/**
 * Times `repeat` samples of `number` calls each, after one call that is not counted. If a sample would last less than
 * `minSeconds`, `number` is raised until it does not. A call that gives a promise ends with it, before the next one
 * begins; `finished` waits for what calls have begun. Throws ArgumentError for counts below 1 and negative times.
 */
export async function timed(call, { number = 1, repeat = 10, minSeconds = 0 } = {}, finished = () => {}) {
  requireOptions({ number, repeat, minSeconds });
  const take = (count) => sample(call, count, finished);
  await call();
  await finished();
  const count = await lasting(take, number, minSeconds);
  const samples = [];
  while (samples.length < repeat) samples.push((await take(count)) / count);
  return new TimeResult(samples, count);
}

/**
 * Times calls against each other: `repeat` rounds with a sample of each, of at least `minSeconds`. Throws as `timed`.
 */
export async function timedInTurns(calls, { repeat = 10, minSeconds = 0 } = {}) {
  requireOptions({ number: 1, repeat, minSeconds });
  const takes = calls.map((call) => (count) => sample(call, count));
  for (const call of calls) call();
  const counts = [];
  for (const take of takes) counts.push(await lasting(take, 1, minSeconds));
  const samples = takes.map(() => []);
  for (let round = 0; round < repeat; round++) {
    for (const [i, take] of takes.entries()) samples[i].push((await take(counts[i])) / counts[i]);
  }
  return counts.map((count, i) => new TimeResult(samples[i], count));
}

function requireOptions({ number, repeat, minSeconds }) {
  const isCount = (value) => Number.isSafeInteger(value) && value >= 1;
  if (isCount(number) && isCount(repeat) && minSeconds >= 0 && minSeconds < Infinity) return;
  throw new ArgumentError(
    "expected number and repeat of 1 or more and a finite minSeconds of 0 or more, " +
      `found number=${number}, repeat=${repeat}, minSeconds=${minSeconds}`,
  );
}

/** How many calls, at least `number`, last for some seconds; `take` gives the seconds of so many. */
async function lasting(take, number, seconds) {
  let count = number;
  for (let found = await take(count); found < seconds; found = await take(count)) {
    const growth = found > 0 ? (seconds / found) * 1.2 : 10;
    count = Math.floor(count * Math.min(Math.max(growth, 1.5), 10)) + 1;
  }
  return count;
}

/** The seconds of some calls in a row, until what they have begun is finished. */
async function sample(call, count, finished = () => {}) {
  const start = performance.now();
  for (let i = 0; i < count; i++) {
    const work = call();
    if (work instanceof Promise) await work;
  }
  await finished();
  return (performance.now() - start) / 1000;
}

/** The value below which a part of the samples lies, between neighbours in proportion. */
function quantile(samples, part) {
  const sorted = [...samples].sort((a, b) => a - b);
  const place = part * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}
