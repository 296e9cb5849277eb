import { readUnknown } from "./unknown.ts";

/**
 * Comparisons of a string of which only the beginning is known, by the operator that they stand in for. They throw the error of unknown
 * inputs when the rest of the string matters.
 */
export const prefixFunctions: Readonly<
  Record<string, (prefix: string, operand: readonly string[]) => boolean>
> = {
  startsWith: (prefix, texts) =>
    texts.some((text) => prefix.startsWith(text)) || isPossible(prefix, texts),
  "_==_": isPossible,
  "@in": isPossible,
};

/** Returns the name of the function in place of an operator; authors cannot write it. */
export function prefixFunctionName(operator: string): string {
  return `@prefix ${operator}`;
}

/** Returns false if none of the strings begins with the prefix. */
function isPossible(prefix: string, texts: readonly string[]): boolean {
  return texts.some((text) => text.startsWith(prefix)) && readUnknown();
}
