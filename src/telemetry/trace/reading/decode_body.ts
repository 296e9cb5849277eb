/** A decoded body. */
export interface DecodedBody {
  readonly byteLength: number;
  /** Text; `undefined` when the body is not UTF-8. */
  readonly text: string | undefined;
}

/** Decodes the base64 of a body snapshot; the text covers at most `maxBytes`. */
export function decodeBody(base64: string, maxBytes: number): DecodedBody {
  const padding = /=*$/.exec(base64.slice(-2))?.[0].length ?? 0;
  const byteLength = Math.floor(base64.length / 4) * 3 - padding;
  const bytes = decodeBase64(base64.slice(0, Math.ceil(maxBytes / 3) * 4));
  if (bytes === undefined) return { byteLength, text: undefined };
  try {
    // In stream mode, a truncated character at the end is not an error.
    const decoder = new TextDecoder("utf-8", { fatal: true });
    const text = decoder.decode(bytes, { stream: true });
    return { byteLength, text: text.includes("\0") ? undefined : text };
  } catch {
    // Not UTF-8.
    return { byteLength, text: undefined };
  }
}

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    // An invalid event can still be summarized.
    return undefined;
  }
}
