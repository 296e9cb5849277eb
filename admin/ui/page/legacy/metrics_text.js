/** Parses metrics in the Prometheus text format. */

/** Returns all samples: `[{ name: "up", labels: { job: "a" }, value: 1 }]`. */
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
 * Sums the samples of a metric; `matches` selects by labels.
 * @param {(labels: Record<string, string>) => boolean} matches
 */
export function sumOf(samples, name, matches = () => true) {
  let sum = 0;
  for (const sample of samples) {
    if (sample.name === name && matches(sample.labels)) sum += sample.value;
  }
  return sum;
}

/** Converts a counter to a rate: each call returns the increase per second since the previous call; at first `undefined`. */
export function createRate() {
  let last;
  return (value, seconds) => {
    const before = last;
    last = { value, seconds };
    if (before === undefined || seconds <= before.seconds) return undefined;
    // A counter that decreased was reset.
    return Math.max(0, value - before.value) / (seconds - before.seconds);
  };
}
