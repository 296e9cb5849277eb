const methods: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "PUT",
  "DELETE",
  "TRACE",
]);

/** Whether a request may be sent again when nobody knows if the first one arrived (RFC 9110 section 9.2.2). */
export function isIdempotent(method: string): boolean {
  return methods.has(method);
}
