/** Reports whether `text` is a valid bearer token (RFC 6750 section 2.1) and long enough not to be guessed. */
export function isAdminToken(text: string): boolean {
  return text.length >= 16 && text.length <= 4096 &&
    /^[A-Za-z0-9._~+/-]+=*$/.test(text);
}
