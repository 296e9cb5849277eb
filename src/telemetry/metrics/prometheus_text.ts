/** Returns the comment lines of a metric. */
export function toHead(type: string, name: string, help: string): string {
  return `# HELP ${name} ${
    help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")
  }\n# TYPE ${name} ${type}\n`;
}

/** Returns one line; `labels` is such as `method="GET"`, or empty. */
export function toSample(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${toNumber(value)}\n`;
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

function escapeValue(value: string): string {
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
