/** Reads metrics in the Prometheus text format. */

/** Every sample: `[{ name: "up", labels: { job: "a" }, value: 1 }]`. */
export function parseMetrics(text) {
  return text.split("\n").flatMap((line) => {
    const match = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)/i.exec(line);
    if (match === null) return [];
    const [, name, labels = "", value] = match;
    return [{ name, labels: parseLabels(labels), value: Number(value) }];
  });
}

function parseLabels(text) {
  const pairs = text.matchAll(/([a-z_]\w*)="((?:[^"\\]|\\.)*)"/gi);
  return Object.fromEntries(
    Array.from(
      pairs,
      ([, name, value]) => [name, value.replace(/\\(.)/g, unescapeLabel)],
    ),
  );
}

function unescapeLabel(_, character) {
  return character === "n" ? "\n" : character;
}

/**
 * Sum of the samples of a name; `fits` chooses by labels.
 * @param {(labels: Record<string, string>) => boolean} fits
 */
export function sumOf(samples, name, fits = () => true) {
  let sum = 0;
  for (const sample of samples) {
    if (sample.name === name && fits(sample.labels)) sum += sample.value;
  }
  return sum;
}

/** A counter as a rate: each call answers how much it grew per second since the call before; `undefined` at first. */
export function createRate() {
  let last;
  return (value, seconds) => {
    const before = last;
    last = { value, seconds };
    if (before === undefined || seconds <= before.seconds) return undefined;
    // A counter that fell began anew.
    return Math.max(0, value - before.value) / (seconds - before.seconds);
  };
}
