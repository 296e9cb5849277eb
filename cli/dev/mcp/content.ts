/** One piece of a tool's answer or of a prompt. */
export type Content =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "audio"; data: string; mimeType: string }
  | { type: "resource"; resource: ResourceContents };

/** What a resource holds; `blob` is base64. */
export type ResourceContents =
  | { uri: string; mimeType: string; text: string }
  | { uri: string; mimeType: string; blob: string };

/** One red pixel, as a PNG in base64. */
export const RED_PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/** No sound at all, as a WAV file in base64. */
export const SILENCE =
  "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

/** Plain text. */
export function text(text: string): Content {
  return { type: "text", text };
}

/** A PNG, from base64. */
export function image(data: string): Content {
  return { type: "image", data, mimeType: "image/png" };
}

/** A WAV file, from base64. */
export function audio(data: string): Content {
  return { type: "audio", data, mimeType: "audio/wav" };
}

/** A text resource with its contents, so that nobody has to fetch it. */
export function embed(
  uri: string,
  text: string,
  mimeType = "text/plain",
): Content {
  return { type: "resource", resource: { uri, mimeType, text } };
}
