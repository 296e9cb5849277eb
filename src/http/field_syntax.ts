/** Byte classes of RFC 9110 sections 5.5 and 5.6.2, as look-up tables. */
const TOKEN_PUNCTUATION = "!#$%&'*+-.^_`|~";

/** 1 for bytes that are allowed in tokens: methods and field names. */
export const tokenBytes: Uint8Array = tableOf((code) =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) ||
  (code >= 0x61 && code <= 0x7a) ||
  TOKEN_PUNCTUATION.includes(String.fromCharCode(code))
);

/** 1 for bytes that are allowed in field values: no control characters except tab; obs-text is allowed. */
export const valueBytes: Uint8Array = tableOf((code) =>
  code === 0x09 || (code >= 0x20 && code !== 0x7f)
);

/** 1 for bytes that are allowed in request targets: visible ASCII. */
export const targetBytes: Uint8Array = tableOf((code) =>
  code > 0x20 && code < 0x7f
);

/** Reports whether `name` is a valid field name (RFC 9110 section 5.1). */
export function isFieldName(name: string): boolean {
  return name !== "" && every(name, tokenBytes);
}

/** Reports whether `value` is a valid field value: Latin-1 without line breaks, NUL and other control characters. */
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
