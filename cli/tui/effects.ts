import { describeError } from "../../src/base/errors.ts";
import type { Effect } from "./state/model.ts";

/** Terminals ignore longer texts for the clipboard. */
const MAX_COPIED_BYTES = 56_000;

/** Returns the sequence that gives a text to the clipboard of the terminal (OSC 52); `undefined` if it is too long. */
export function clipboardSequence(text: string): string | undefined {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MAX_COPIED_BYTES) return undefined;
  return `\x1b]52;c;${bytes.toBase64()}\x07`;
}

/** Saves to a new file; returns a message for the user. */
export async function save(
  { file, text }: Extract<Effect, { readonly kind: "save" }>,
): Promise<string> {
  try {
    // A trace has the bodies of requests.
    const options = { createNew: true, mode: 0o600 };
    await Deno.writeTextFile(file, text, options);
    return `saved to ${file}`;
  } catch (error) {
    const reason = error instanceof Deno.errors.AlreadyExists
      ? "the file exists"
      : describeError(error);
    return `cannot save to ${file}: ${reason}`;
  }
}
