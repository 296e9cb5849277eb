import { type Command, InvalidArgumentError } from "commander";

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

/** Reads the value of an option. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (!/^[0-9]{1,5}$/.test(text) || port < 1 || port > 65535) {
    throw new InvalidArgumentError("Expected a port from 1 to 65535.");
  }
  return port;
}

/** Reads the value of an option. */
export function parseCount(text: string): number {
  const count = Number(text);
  if (!/^[0-9]{1,6}$/.test(text) || count < 1) {
    throw new InvalidArgumentError("Expected a number from 1 to 999999.");
  }
  return count;
}

/** Reads the value of an option. */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!/^[0-9]{1,3}$/.test(text) || seconds < 1 || seconds > 300) {
    throw new InvalidArgumentError("Expected a whole number from 1 to 300.");
  }
  return seconds;
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
