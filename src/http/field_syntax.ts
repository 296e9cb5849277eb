/** Byte classes of RFC 9110 section 5.6.2 and 5.5, as tables: one look-up per byte. */
const TOKEN_PUNCTUATION = "!#$%&'*+-.^_`|~";

/** 1 for bytes that may stand in a token: methods and field names. */
export const tokenBytes: Uint8Array = tableOf((code) =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) ||
  (code >= 0x61 && code <= 0x7a) ||
  TOKEN_PUNCTUATION.includes(String.fromCharCode(code))
);

/** 1 for bytes that may stand in a field value: no control characters but tab, obs-text allowed. */
export const valueBytes: Uint8Array = tableOf((code) =>
  code === 0x09 || (code >= 0x20 && code !== 0x7f)
);

/** 1 for bytes that may stand in a request target: visible ASCII. */
export const targetBytes: Uint8Array = tableOf((code) =>
  code > 0x20 && code < 0x7f
);

/** Whether `name` is a valid field name (RFC 9110 section 5.1). */
export function isFieldName(name: string): boolean {
  return name !== "" && every(name, tokenBytes);
}

/** Whether `value` may be sent as it is: no line breaks, NUL or other controls, nothing beyond Latin-1. */
export function isFieldValue(value: string): boolean {
  return every(value, valueBytes);
}

function every(text: string, table: Uint8Array): boolean {
  for (let i = 0; i < text.length; i++) {
    if (table[text.charCodeAt(i)] !== 1) return false;
  }
  return true;
}

function tableOf(allowed: (code: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => allowed(code) ? 1 : 0);
}
