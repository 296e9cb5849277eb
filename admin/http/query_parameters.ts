import { escapeControls } from "../../src/base/log/log_text.ts";

/** An invalid query parameter; the message goes to the client. */
export class InvalidParameter extends Error {
  override readonly name = "InvalidParameter";
}

/** Valid integers and the default. */
export interface IntegerRange<Or = number> {
  readonly from: number;
  readonly to: number;
  readonly or: Or;
}

/**
 * Reads an integer parameter.
 * @throws {InvalidParameter} For example, `invalid seconds: expected a whole number from 1 to 300`.
 */
export function readInteger<Or>(
  query: URLSearchParams,
  name: string,
  { from, to, or }: IntegerRange<Or>,
): number | Or {
  const values = query.getAll(name);
  if (values.length === 0) return or;
  const [text = ""] = values;
  const value = Number(text);
  if (
    values.length === 1 && /^[0-9]{1,9}$/.test(text) && value >= from &&
    value <= to
  ) return value;
  throw new InvalidParameter(
    `invalid ${name}: expected a whole number from ${from} to ${to}`,
  );
}

/**
 * Reads one of some values; `undefined` if there is none.
 * @throws {InvalidParameter} For example, `invalid by: expected route, backend, model or key`.
 */
export function readChoice<T extends string>(
  query: URLSearchParams,
  name: string,
  choices: readonly T[],
): T | undefined {
  const values = query.getAll(name);
  if (values.length === 0) return undefined;
  const choice = choices.find((each) =>
    values.length === 1 && each === values[0]
  );
  if (choice !== undefined) return choice;
  const list = `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
  throw new InvalidParameter(`invalid ${name}: expected ${list}`);
}

/**
 * Rejects unknown parameters.
 * @param usage Appended to the message.
 * @throws {InvalidParameter}
 */
export function requireKnown(
  query: URLSearchParams,
  names: readonly string[],
  usage: string,
): void {
  const unknown = [...query.keys()].find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new InvalidParameter(
    `Unknown parameter: ${escapeControls(unknown)}\n${usage}`,
  );
}

/** Returns the last segment of the path of a URL; `undefined` if it is not valid. */
export function lastSegment(url: string): string | undefined {
  try {
    return decodeURIComponent(new URL(url).pathname.split("/").at(-1) ?? "");
  } catch {
    return undefined;
  }
}
