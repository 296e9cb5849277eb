/** Parses metrics in the Prometheus text format. */

/** One sample: `up{job="a"} 1`. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Returns all samples. */
export function parseMetrics(text: string): Sample[] {
  return text.split("\n").flatMap((line) => {
    const match = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)/i.exec(line);
    if (match === null) return [];
    const [, name = "", labels = "", value] = match;
    return [{ name, labels: parseLabels(labels), value: Number(value) }];
  });
}

function parseLabels(text: string): Record<string, string> {
  const pairs = text.matchAll(/([a-z_]\w*)="((?:[^"\\]|\\.)*)"/gi);
  return Object.fromEntries(
    Array.from(
      pairs,
      ([, name = "", value = ""]) => [name, unescapeLabel(value)],
    ),
  );
}

function unescapeLabel(value: string): string {
  return value.replace(
    /\\(.)/g,
    (_, character: string) => character === "n" ? "\n" : character,
  );
}

/** Sums the samples of a metric; `matches` selects by labels. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  matches: (labels: Readonly<Record<string, string>>) => boolean = () => true,
): number {
  let sum = 0;
  for (const sample of samples) {
    if (sample.name === name && matches(sample.labels)) sum += sample.value;
  }
  return sum;
}

/** Converts a counter to a rate: each call returns the increase per second since the previous call; at first `undefined`. */
export function createRate(): (
  value: number,
  seconds: number,
) => number | undefined {
  let last: { value: number; seconds: number } | undefined;
  return (value, seconds) => {
    const before = last;
    last = { value, seconds };
    if (before === undefined || seconds <= before.seconds) return undefined;
    // A counter that decreased was reset.
    return Math.max(0, value - before.value) / (seconds - before.seconds);
  };
}
