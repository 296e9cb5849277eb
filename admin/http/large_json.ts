import { yieldToEventLoop } from "../../src/base/slices.ts";
import { respond } from "./admin_responses.ts";

/** Characters per slice: a few milliseconds. Yielding itself takes two or more. */
const SLICE_LENGTH = 256 * 1024;

/**
 * Creates a JSON response like `json`, for an object with long lists: serializes in slices, so that megabytes do not delay requests.
 * Serialization completes before the response begins, as its length is declared.
 * @param isCompact Leaves out line breaks and indentation, for programs that read megabytes.
 */
export async function largeJson(
  value: Readonly<Record<string, unknown>>,
  isCompact = false,
): Promise<Response> {
  const encoder = new TextEncoder();
  const slices: Uint8Array[] = [];
  let length = 0;
  for (const text of inSlices(partsOf(value, isCompact ? compact : indented))) {
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

/** Characters between the parts of a document. */
interface Layout {
  readonly indent: string;
  readonly lineBreak: string;
  /** After the colon of a member. */
  readonly space: string;
}

const indented: Layout = { indent: "  ", lineBreak: "\n", space: " " };
const compact: Layout = { indent: "", lineBreak: "", space: "" };

/** Yields the output of `JSON.stringify(value, null, indent)` and a line break. */
function* partsOf(
  value: Readonly<Record<string, unknown>>,
  layout: Layout,
): Iterable<string> {
  const { indent, lineBreak, space } = layout;
  const members = Object.entries(value).filter(([, item]) =>
    item !== undefined
  );
  if (members.length === 0) return yield "{}\n";
  let start = `{${lineBreak}`;
  for (const [name, item] of members) {
    yield `${start}${indent}${JSON.stringify(name)}:${space}`;
    if (Array.isArray(item) && item.length > 0) yield* itemsOf(item, layout);
    else yield textOf(item, layout, indent);
    start = `,${lineBreak}`;
  }
  yield `${lineBreak}}\n`;
}

function* itemsOf(
  items: readonly unknown[],
  layout: Layout,
): Iterable<string> {
  const { indent, lineBreak } = layout;
  const ofItem = indent + indent;
  let start = `[${lineBreak}`;
  for (const item of items) {
    yield `${start}${ofItem}${textOf(item, layout, ofItem)}`;
    start = `,${lineBreak}`;
  }
  yield `${lineBreak}${indent}]`;
}

function textOf(value: unknown, { indent }: Layout, before: string): string {
  const text = JSON.stringify(value, null, indent) ?? "null";
  // Line breaks in strings are escaped, so all line breaks here begin lines.
  return before === "" ? text : text.replaceAll("\n", `\n${before}`);
}
