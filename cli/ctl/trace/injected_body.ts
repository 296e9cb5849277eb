/** A body as far as people can read it. */
export interface DecodedBody {
  readonly byteLength: number;
  /** `undefined` when it is no text in UTF-8. */
  readonly text: string | undefined;
}

/** Reads the base64 of a body snapshot; the text of as many bytes as are asked for. */
export function decodeBody(base64: string, maxBytes: number): DecodedBody {
  const padding = /=*$/.exec(base64.slice(-2))?.[0].length ?? 0;
  const byteLength = Math.floor(base64.length / 4) * 3 - padding;
  const bytes = decodeBase64(base64.slice(0, Math.ceil(maxBytes / 3) * 4));
  if (bytes === undefined) return { byteLength, text: undefined };
  try {
    // A body that was cut may end inside a character: as a stream, that is no error.
    const decoder = new TextDecoder("utf-8", { fatal: true });
    const text = decoder.decode(bytes, { stream: true });
    return { byteLength, text: text.includes("\0") ? undefined : text };
  } catch {
    // Not UTF-8, which is an answer and no failure.
    return { byteLength, text: undefined };
  }
}

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    // The summary of a broken event is still worth showing.
    return undefined;
  }
}
