import { isJsonObject, parseJson } from "../../base/json.ts";
import { JsonScanner } from "../format/json_scanner.ts";

const INCLUDE_USAGE_PATH = "stream_options.include_usage";
const streamPaths: ReadonlySet<string> = new Set([
  "stream",
  "stream_options",
  INCLUDE_USAGE_PATH,
]);

/**
 * Sets `stream_options.include_usage` in the body of a streamed OpenAI chat or completions request; all other bytes are kept.
 *
 * Returns `undefined` when no change is needed or possible: not streamed, set already, or not understood. For a changed body,
 * `UsageChunkFilter` removes the usage from the response, as the client did not request it.
 */
export function withIncludeUsage(body: Uint8Array): Uint8Array | undefined {
  const found = findStreamOptions(body);
  if (found.documents !== 1 || !isTrue.test(found.stream ?? "")) {
    return undefined;
  }
  const { root, options, includeUsage, nonObject } = found;
  if (nonObject !== undefined) {
    const isNull = nonObject.text === "null";
    return isNull
      ? splice(body, nonObject, '{"include_usage":true}')
      : undefined;
  }
  if (includeUsage !== undefined) {
    return isFalse.test(includeUsage.text)
      ? splice(body, includeUsage, "true")
      : undefined;
  }
  return options === undefined
    ? insertMember(body, root, '"stream_options":{"include_usage":true}')
    : insertMember(body, options, '"include_usage":true');
}

/** Values that servers accept as `true` and `false`; many, such as those using Pydantic, are lenient. */
const isTrue = /^(?:true|1(?:\.0+)?|"(?:true|t|yes|y|on|1)")$/i;
const isFalse = /^(?:false|null|0(?:\.0+)?|"(?:false|f|no|n|off|0)")$/i;

/** A value in a body without surrounding whitespace. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Positions of the options; the last of duplicate members counts, as in JSON parsers. */
interface StreamOptions {
  documents: number;
  /** Start of the body's members. */
  root: number;
  stream: string | undefined;
  /** Start of the members of `stream_options`. */
  options: number | undefined;
  includeUsage: Span | undefined;
  nonObject: Span | undefined;
}

function findStreamOptions(body: Uint8Array): Readonly<StreamOptions> {
  const found: StreamOptions = {
    documents: 0,
    root: 0,
    stream: undefined,
    options: undefined,
    includeUsage: undefined,
    nonObject: undefined,
  };
  const setOptions = (options: number | undefined, nonObject?: Span) =>
    Object.assign(found, { options, nonObject, includeUsage: undefined });
  new JsonScanner(streamPaths, {
    open(path, offset) {
      if (path === "") found.root = offset;
      else setOptions(offset);
    },
    member(path, text, start) {
      const span = trim(text, start);
      if (path === "stream") found.stream = span.text;
      else if (path === INCLUDE_USAGE_PATH) found.includeUsage = span;
      else setOptions(undefined, span);
    },
    end() {
      found.documents++;
    },
  }).push(body);
  return found;
}

function trim(text: string, start: number): Span {
  const leading = Math.max(0, text.search(/[^\t\n\r ]/));
  const trimmed = text.slice(leading).trimEnd();
  const from = start + leading;
  return { text: trimmed, start: from, end: from + trimmed.length };
}

function insertMember(
  body: Uint8Array,
  at: number,
  member: string,
): Uint8Array {
  const isEmpty = isJsonObject(parseJson(`{${textFrom(body, at)}`));
  return splice(body, { start: at, end: at }, isEmpty ? member : `${member},`);
}

/** Returns the text from `at` through the first character that is not whitespace. */
function textFrom(body: Uint8Array, at: number): string {
  let end = at;
  while (end < body.length && (body[end] ?? 0) <= 0x20) end++;
  return new TextDecoder().decode(body.subarray(at, end + 1));
}

function splice(
  body: Uint8Array,
  { start, end }: { readonly start: number; readonly end: number },
  text: string,
): Uint8Array {
  const inserted = new TextEncoder().encode(text);
  const spliced = new Uint8Array(body.length - (end - start) + inserted.length);
  spliced.set(body.subarray(0, start));
  spliced.set(inserted, start);
  spliced.set(body.subarray(end), start + inserted.length);
  return spliced;
}
