import { type Command, InvalidArgumentError, Option } from "commander";

export {
  Argument,
  Command,
  CommanderError,
  InvalidArgumentError,
  Option,
} from "commander";

/** Shells with completion support. */
export const shells: readonly string[] = ["bash", "zsh", "fish"];

/** Visits a command and all its subcommands. */
export function forEachCommand(
  command: Command,
  visit: (command: Command) => void,
): void {
  visit(command);
  for (const child of command.commands) forEachCommand(child, visit);
}

/** Formats the path of a command, such as `gateway ctl proxy log`. */
export function pathOf(command: Command): string {
  return command.parent === null
    ? command.name()
    : `${pathOf(command.parent)} ${command.name()}`;
}

/** A program invocation. */
export interface Call {
  readonly args: readonly string[];
  /** Sets the exit code; default 0. */
  finish(exitCode: number): void;
}

/** Creates the option for the output format; the first format is the default. */
export function formatOption(
  ...formats: readonly [string, ...string[]]
): Option {
  return new Option("-o, --output <format>", "output format")
    .choices(formats).default(formats[0]);
}

/** Parses the value of an option as a port. */
export function parsePort(text: string): number {
  return parseNumber(text, "a port", [1, 65_535]);
}

/** Creates a parser for option values: an integer in an inclusive range. */
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

/** Parses an option that must not be repeated; Commander would use the last value. */
export function once(value: string, previous: string | undefined): string {
  if (previous === undefined) return value;
  throw new InvalidArgumentError(
    "Expected this option once; to load several files, use a directory.",
  );
}

/** Parses a repeatable option. */
export function collect(
  value: string,
  previous: readonly string[] = [],
): readonly string[] {
  return [...previous, value];
}

/**
 * Reports an unknown command. With a default action, Commander would treat it as an argument, and it does not suggest
 * subcommands.
 * @param near The probably intended command.
 */
export function rejectCommand(
  program: Command,
  word: string,
  near: string | undefined,
): never {
  const hint = near === undefined ? "" : `\n(Did you mean ${near}?)`;
  return program.error(`error: unknown command '${word}'${hint}`);
}
