import { yieldToEventLoop } from "../../src/base/slices.ts";
import { respond } from "./admin_responses.ts";

/** Characters per slice: a few milliseconds. Yielding itself takes two or more. */
const SLICE_LENGTH = 256 * 1024;

/**
 * Creates a JSON response like `json`, for an object with long lists: serializes in slices, so that megabytes do not delay requests.
 * Serialization completes before the response begins, as its length is declared.
 */
export async function largeJson(
  value: Readonly<Record<string, unknown>>,
): Promise<Response> {
  const encoder = new TextEncoder();
  const slices: Uint8Array[] = [];
  let length = 0;
  for (const text of inSlices(partsOf(value))) {
    const slice = encoder.encode(text);
    slices.push(slice);
    length += slice.length;
    await yieldToEventLoop();
  }
  return respond(200, "application/json", bodyOf(slices), {
    "content-length": String(length),
  });
}

/** Streams the slices without copying them. */
function bodyOf(slices: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const rest = slices.values();
  return new ReadableStream({
    pull(controller) {
      const { done, value } = rest.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}

function* inSlices(parts: Iterable<string>): Generator<string, void> {
  let slice = "";
  for (const part of parts) {
    slice += part;
    if (slice.length < SLICE_LENGTH) continue;
    yield slice;
    slice = "";
  }
  yield slice;
}

/** Yields the output of `JSON.stringify(value, null, 2)` and a line break. */
function* partsOf(value: Readonly<Record<string, unknown>>): Iterable<string> {
  const members = Object.entries(value).filter(([, item]) =>
    item !== undefined
  );
  if (members.length === 0) return yield "{}\n";
  let start = "{\n";
  for (const [name, item] of members) {
    yield `${start}  ${JSON.stringify(name)}: `;
    if (Array.isArray(item) && item.length > 0) yield* itemsOf(item);
    else yield textOf(item, "  ");
    start = ",\n";
  }
  yield "\n}\n";
}

function* itemsOf(items: readonly unknown[]): Iterable<string> {
  let start = "[\n";
  for (const item of items) {
    yield `${start}    ${textOf(item, "    ")}`;
    start = ",\n";
  }
  yield "\n  ]";
}

function textOf(value: unknown, indent: string): string {
  // Line breaks in strings are escaped, so all line breaks here begin lines.
  return (JSON.stringify(value, null, 2) ?? "null")
    .replaceAll("\n", `\n${indent}`);
}
