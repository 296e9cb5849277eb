/** Returns the lines of a metric. */
export function toText(
  { name, type, help }: {
    readonly name: string;
    readonly type: string;
    readonly help: string;
  },
  samples: Iterable<
    readonly [series: string, value: number, ...more: unknown[]]
  >,
): string {
  const escaped = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  let text = `# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`;
  for (const [series, value] of samples) {
    text += `${series} ${toNumber(value)}\n`;
  }
  return text;
}

/** Returns a name with labels; `labels` is such as `method="GET"`, or empty. */
export function toSeries(name: string, labels: string): string {
  return labels === "" ? name : `${name}{${labels}}`;
}

/** Returns labels such as `method="GET",status="200"`. */
export function toLabelText(
  names: readonly string[],
  values: readonly string[],
): string {
  return names.map((name, index) =>
    `${name}="${escapeValue(values[index] ?? "")}"`
  ).join(",");
}

/** Escapes the value of a label. */
export function escapeValue(value: string): string {
  return /[\\"\n]/.test(value)
    ? value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll(
      "\n",
      "\\n",
    )
    : value;
}

/** Formats a number for Prometheus. */
export function toNumber(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

/** Splits a name with labels that `toSeries` has formatted. */
export function parseSeries(series: string): {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
} {
  const start = series.indexOf("{");
  if (start < 0) return { name: series, labels: {} };
  const labels: Record<string, string> = {};
  for (const [, name = "", value = ""] of series.slice(start).matchAll(label)) {
    labels[name] = value.replace(
      /\\(.)/g,
      (_, escaped) => escaped === "n" ? "\n" : escaped,
    );
  }
  return { name: series.slice(0, start), labels };
}

const label = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;
