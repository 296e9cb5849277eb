import { utf8 } from "../../base/bytes.ts";
import { isJsonObject, parseJson } from "../../base/json.ts";
import type { JsonSpan } from "../../base/json/json_reader.ts";
import type { RequestFacts } from "./request_facts.ts";

/** A body in parts, which share the memory of the one that was changed. */
type BodyParts = readonly [Uint8Array, Uint8Array, Uint8Array];

/**
 * Sets `stream_options.include_usage` in the body of a streamed OpenAI chat or completions request; all other bytes are kept.
 *
 * Returns `undefined` when no change is needed or possible: not streamed, set already, or JSON that servers read in different ways. For
 * a changed body, `UsageChunkFilter` removes the usage from the response, as the client did not request it.
 */
export function withIncludeUsage(
  body: Uint8Array,
  { spans }: Pick<RequestFacts, "spans">,
): BodyParts | undefined {
  const root = spans?.get("");
  if (root === undefined || !isTrue.test(textAt(body, spans?.get("stream")))) {
    return undefined;
  }
  const options = spans?.get("stream_options");
  if (options === undefined) {
    return insertMember(
      body,
      root.start + 1,
      '"stream_options":{"include_usage":true}',
    );
  }
  if (textAt(body, options) === "null") {
    return splice(body, options, '{"include_usage":true}');
  }
  if (body[options.start] !== OPENING_BRACE) return undefined;
  const flag = spans?.get("stream_options.include_usage");
  if (flag === undefined) {
    return insertMember(body, options.start + 1, '"include_usage":true');
  }
  return isFalse.test(textAt(body, flag))
    ? splice(body, flag, "true")
    : undefined;
}

/** Providers whose streams have the usage without being asked for it. */
const unasked = /(?:^|\.)(?:together\.(?:ai|xyz)|openrouter\.ai)$/i;

/** Reports whether the streams of a host have the usage for all clients, so that it is not to be hidden from those that did not ask. */
export function reportsUsageUnasked(host: string | undefined): boolean {
  return host !== undefined && unasked.test(host);
}

const OPENING_BRACE = 0x7b;

function textAt(body: Uint8Array, span: JsonSpan | undefined): string {
  return span === undefined
    ? ""
    : new TextDecoder().decode(body.subarray(span.start, span.end));
}

/** Values that servers accept as `true` and `false`; many, such as those using Pydantic, are lenient. */
const isTrue = /^(?:true|1(?:\.0+)?|"(?:true|t|yes|y|on|1)")$/i;
const isFalse = /^(?:false|null|0(?:\.0+)?|"(?:false|f|no|n|off|0)")$/i;

function insertMember(
  body: Uint8Array,
  at: number,
  member: string,
): BodyParts {
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
  { start, end }: JsonSpan,
  text: string,
): BodyParts {
  return [body.subarray(0, start), utf8(text), body.subarray(end)];
}
