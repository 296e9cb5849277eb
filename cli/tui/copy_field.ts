/**
 * Returns the field in a line of YAML, JSON or a diff: its value, or the lines that belong to it if it has members.
 * Without a field, the line itself.
 */
export function fieldAt(lines: readonly string[], at: number): string {
  const line = lines[at] ?? "";
  const [, indent = "", text = ""] = /^(\s*)(?:[-+] )?(.*)$/s.exec(line) ?? [];
  const found = field.exec(text);
  if (found === null) return unquote(text);
  const [, value = ""] = found;
  const isBlock = /^(?:[|>][-+]?|)$/.test(value);
  const isOpen = /^[[{]$/.test(value);
  if (!isBlock && !isOpen) return unquote(value);
  const below = membersOf(lines, at, indent.length);
  if (!isOpen) return below.join("\n");
  const end = lines[at + below.length + 1]?.trim().replace(/,$/, "") ?? "";
  return [value, ...below.map((member) => `  ${member}`), end].join("\n");
}

/** A key, quoted or not, and the value. */
const field = /^(?:"(?:[^"\\]|\\.)*"|[^\s"'{}[\]]\S*?):(?: (.*)|)$/s;

/** Returns the lines that are indented more than their parent, without that indentation. */
function membersOf(
  lines: readonly string[],
  at: number,
  indent: number,
): readonly string[] {
  const below = lines.slice(at + 1);
  const end = below.findIndex((line) =>
    line.trim() !== "" && indentOf(line) <= indent
  );
  const members = end === -1 ? below : below.slice(0, end);
  const first = indentOf(members[0] ?? "");
  return members.map((member) => member.slice(first));
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Returns the string of a quoted value, and any other value without the comma of JSON. */
function unquote(text: string): string {
  const value = text.replace(/,$/, "");
  if (/^".*"$/s.test(value)) {
    try {
      return String(JSON.parse(value));
    } catch {
      // An escape of YAML only.
      return value;
    }
  }
  if (/^'.*'$/s.test(text)) return text.slice(1, -1).replaceAll("''", "'");
  return /^(?:true|false|null|-?[0-9][-+.0-9eE]*)$/.test(value) ? value : text;
}
