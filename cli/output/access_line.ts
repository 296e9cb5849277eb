/** Fields that one line on a terminal has no room for. */
const hidden = new Set([
  "gateway",
  "listener",
  "endpoint",
  "src.addr",
  "http.version",
  "bytes",
  "upstream.duration",
]);

/** Fields with a place of their own. */
const leading = new Set([
  "http.method",
  "http.path",
  "http.status",
  "duration",
]);

/** IDs, which are long, are last. */
const trailing = new Set(["request.id", "upstream.request.id"]);

const line =
  /^(\S+)\t(\w+)\trequest((?: [^\s=]+=(?:"(?:[^"\\]|\\.)*"|[^\s"]\S*|))*)$/;
const field = / ([^\s=]+)=("(?:[^"\\]|\\.)*"|[^\s"]\S*|)/g;

/**
 * Shortens lines of the access log for a person at a terminal: method, path, status and time, then what differs between
 * requests, and IDs last. Lines in another form, such as JSON, stay as they are.
 */
export function shortAccessLines(lines: string, hasColor: boolean): string {
  return lines.split("\n").map((text) => {
    const [, time, , fields] = line.exec(text) ?? [];
    if (time === undefined || fields === undefined) return text;
    return shortLine(time, fields, hasColor);
  }).join("\n");
}

const logTime = /^(?=\d{4}-\d\d-\d\dT)\S+(?=\t)/gm;

/** Gives lines of the log the time of day that lines of the access log have. */
export function shortLogLines(lines: string, hasColor: boolean): string {
  return lines.replace(
    logTime,
    (time) => hasColor ? `\x1b[2m${timeOfDay(time)}\x1b[0m` : timeOfDay(time),
  );
}

function shortLine(time: string, fields: string, hasColor: boolean): string {
  const values = new Map<string, string>();
  for (const [, name = "", value = ""] of fields.matchAll(field)) {
    values.set(name, value);
  }
  const color = (code: string, text: string) =>
    hasColor && text !== "" ? `\x1b[${code}m${text}\x1b[0m` : text;
  const status = values.get("http.status") ?? "";
  const rest: string[] = [];
  const ids: string[] = [];
  for (const [name, value] of values) {
    if (hidden.has(name) || leading.has(name)) continue;
    if (name === "reason" && value === "upstream") continue;
    const isId = trailing.has(name);
    const text = `${name}=${value}`;
    if (isId) ids.push(color("2", text));
    else rest.push(name === "error" ? text : color("2", text));
  }
  return [
    color("2", timeOfDay(time)),
    (values.get("http.method") ?? "-").padEnd(4),
    values.get("http.path") ?? "-",
    color(statusColor(status), status),
    values.get("duration") ?? "-",
    ...rest,
    ...ids,
  ].join(" ");
}

/** Returns the local time of day. */
function timeOfDay(time: string): string {
  const date = new Date(time);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0")).join(":");
}

function statusColor(status: string): string {
  switch (status[0]) {
    case "2":
      return "32";
    case "4":
      return "33";
    case "5":
      return "31;1";
    default:
      return "36";
  }
}
