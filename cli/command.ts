import { type Command, InvalidArgumentError, Option } from "commander";

export { Command, CommanderError, Option } from "commander";

/** Visits a command and all below it. */
export function forEachCommand(
  command: Command,
  visit: (command: Command) => void,
): void {
  visit(command);
  for (const child of command.commands) forEachCommand(child, visit);
}

/** Such as `gateway ctl proxy log`. */
export function pathOf(command: Command): string {
  return command.parent === null
    ? command.name()
    : `${pathOf(command.parent)} ${command.name()}`;
}

/** How the program was called. */
export interface Call {
  readonly args: readonly string[];
  /** Receives the exit code of the command that ran; 0 without. */
  finish(exitCode: number): void;
}

/** The option that says in which format to print; the first one unless it is given. */
export function formatOption(
  ...formats: readonly [string, ...string[]]
): Option {
  return new Option("-o, --output <format>", "output format")
    .choices(formats).default(formats[0]);
}

/** Reads the value of an option: a port. */
export function parsePort(text: string): number {
  return parseNumber(text, "a port", [1, 65_535]);
}

/** What reads the value of an option: a whole number in a range, both ends included. */
export function wholeNumber(
  first: number,
  last: number,
): (text: string) => number {
  return (text) => parseNumber(text, "a whole number", [first, last]);
}

function parseNumber(
  text: string,
  name: string,
  [first, last]: readonly [number, number],
): number {
  const value = Number(text);
  if (/^[0-9]{1,9}$/.test(text) && value >= first && value <= last) {
    return value;
  }
  throw new InvalidArgumentError(`Expected ${name} from ${first} to ${last}.`);
}

/** Reads an option that says one thing only, where Commander would take the last. */
export function once(value: string, previous: string | undefined): string {
  if (previous === undefined) return value;
  throw new InvalidArgumentError(
    "Expected this option once; a directory holds several files.",
  );
}

/** Reads an option that may be repeated. */
export function collect(
  value: string,
  previous: readonly string[] = [],
): readonly string[] {
  return [...previous, value];
}

/**
 * Unlike Commander, which cannot tell a command from an argument once there is a default action, and knows no command
 * that is further below.
 * @param near What was probably meant.
 */
export function refuseCommand(
  program: Command,
  word: string,
  near: string | undefined,
): never {
  const hint = near === undefined ? "" : `\n(Did you mean ${near}?)`;
  return program.error(`error: unknown command '${word}'${hint}`);
}
