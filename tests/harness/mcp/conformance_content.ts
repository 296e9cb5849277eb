import type { Content } from "../../../cli/dev/mcp/offer.ts";

/** One red pixel, as a PNG in Base64. */
export const RED_PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/** No samples, as a WAV file in Base64. */
export const SILENCE =
  "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

/** Returns a PNG, given in Base64. */
export function image(data: string): Content {
  return { type: "image", data, mimeType: "image/png" };
}

/** Returns a WAV file, given in Base64. */
export function audio(data: string): Content {
  return { type: "audio", data, mimeType: "audio/wav" };
}

/** Returns a text resource with its contents embedded. */
export function embed(
  uri: string,
  text: string,
  mimeType = "text/plain",
): Content {
  return { type: "resource", resource: { uri, mimeType, text } };
}
