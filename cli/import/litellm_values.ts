/** Calendar windows by `budget_duration`. */
const windows: Readonly<Record<string, string>> = {
  "1s": "Seconds",
  "60s": "Minutes",
  "1m": "Minutes",
  "60m": "Hours",
  "1h": "Hours",
  "24h": "Days",
  "1d": "Days",
  "7d": "Weeks",
  "30d": "Months",
  "1mo": "Months",
};

/** Returns the unit of a window of LiteLLM; `undefined` for one without a counterpart. */
export function windowOf(duration: string | undefined): string | undefined {
  return windows[duration ?? ""];
}

/** Writes `os.environ/NAME` as `${NAME}`. */
export function fromEnvironment(text: string): string {
  const [, name] = /^os\.environ\/(\w+)$/.exec(text) ?? [];
  return name === undefined ? text : `\${${name}}`;
}
