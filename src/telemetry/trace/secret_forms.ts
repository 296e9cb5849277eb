import { latin1 } from "../../base/bytes.ts";

/**
 * Returns the value of a field and the secrets in it: without its scheme, each cookie, the password of Basic.
 * @param name In lower case.
 */
export function secretsOf(name: string, value: string): readonly string[] {
  if (name === "cookie") {
    return [value, ...value.split(";").map(valueOfPair)];
  }
  if (name === "set-cookie") {
    return [value, valueOfPair(value.split(";")[0] ?? "")];
  }
  const [, scheme, credentials] = /^([\w-]+) +(.+)$/.exec(value) ?? [];
  if (credentials === undefined) return [value];
  if (scheme?.toLowerCase() !== "basic") return [value, credentials];
  return [value, credentials, ...passwordsOf(credentials)];
}

function valueOfPair(pair: string): string {
  return pair.slice(pair.indexOf("=") + 1).trim().replace(/^"(.*)"$/, "$1");
}

function passwordsOf(credentials: string): readonly string[] {
  try {
    const text = new TextDecoder().decode(Uint8Array.fromBase64(credentials));
    return [text, text.slice(text.indexOf(":") + 1)];
  } catch {
    // Not base64: the value is redacted as it is.
    return [];
  }
}

/** Returns the forms of a string where it is quoted: in a body, in JSON, in a URL. */
export function formsOf(text: string): ReadonlySet<string> {
  const read = fromUtf8(text);
  return new Set([
    ...[text, utf8(text), escaped(text), encoded(text)],
    ...[read, escaped(read), encoded(read)],
  ]);
}

/** Returns a string as it appears in a body, one character per byte. */
function utf8(text: string): string {
  return latin1(new TextEncoder().encode(text));
}

/** Decodes a field value, which has one character per byte, from UTF-8; returns other values unchanged. */
export function fromUtf8(value: string): string {
  if (!beyondAscii.test(value)) return value;
  try {
    const bytes = Uint8Array.from(value, (byte) => {
      const code = byte.charCodeAt(0);
      if (code > 0xff) throw new RangeError("not a byte");
      return code;
    });
    return decoder.decode(bytes);
  } catch {
    // Latin-1, or decoded already.
    return value;
  }
}

const beyondAscii = /[\x80-\uffff]/;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Returns a string as it appears in a JSON string. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Returns a string as it appears in a URL; unchanged if it cannot appear there. */
function encoded(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : text;
}
