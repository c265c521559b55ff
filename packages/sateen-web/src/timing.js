/** How long runs took, keeping every sample. */

/** `samples` are seconds per run, in the order measured, each the mean of `number` runs in a row. */
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

/** The value below which a part of the samples lies, between neighbours in proportion. */
function quantile(samples, part) {
  const sorted = [...samples].sort((a, b) => a - b);
  const place = part * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}
