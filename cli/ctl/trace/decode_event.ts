import { describeError } from "../../../src/base/errors.ts";
import { printableJson } from "../../output/printable.ts";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import * as s from "../../../src/api/schema/schema.ts";
import {
  traceEvent,
  type TraceMessage,
  type TraceSeverity,
} from "../../../src/telemetry/trace/trace_event.ts";

/** An event from a gateway, which may be of another version than this program. */
export interface ReceivedEvent {
  /** One line of JSON that is safe to print. */
  readonly line: string;
  /** All fields. */
  readonly json: JsonObject;
  readonly eventStart: number | null;
  /** `null` if the time was not recorded, as of a failed request that was not traced. */
  readonly eventEnd: number | null;
  readonly severity: TraceSeverity;
  readonly scope: readonly string[];
  readonly type: string;
  /** `undefined` when this version does not know the type, or a field differs from the schema. */
  readonly message: TraceMessage | undefined;
  /** Number of its stream, if several are merged: within one, requests come one after the other. */
  readonly lane?: number;
}

/**
 * Decodes a line of a trace: JSON, or a line of the event stream; returns `undefined` for comments and empty lines.
 * @throws {SyntaxError} When the line is not an event.
 */
export function decodeEvent(line: string): ReceivedEvent | undefined {
  const text = line.startsWith("data:") ? line.slice(5).trim() : line.trim();
  if (text === "" || text.startsWith(":")) return undefined;
  const json = parse(text);
  if (!isJsonObject(json)) throw new SyntaxError("expected a JSON object");
  const { eventStart = null, eventEnd, severity, message, scope } = json;
  if (
    !s.matches(fields.eventStart, eventStart) ||
    !s.matches(fields.eventStart, eventEnd)
  ) {
    throw new SyntaxError(
      'expected microseconds in "eventStart" and "eventEnd"',
    );
  }
  if (!isJsonObject(message) || typeof message.type !== "string") {
    throw new SyntaxError('expected a "message" with a "type"');
  }
  return {
    line: toSafeLine(text, json),
    json,
    eventStart,
    eventEnd,
    severity: s.matches(fields.severity, severity) ? severity : "info",
    scope: s.matches(fields.scope, scope) ? scope ?? [] : [],
    type: message.type,
    message: s.matches(fields.message, message) ? message : undefined,
  };
}

const fields = traceEvent.entries;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SyntaxError(`expected JSON: ${describeError(error)}`);
  }
}

/** Returns the line as it was sent, without what a terminal would interpret. */
function toSafeLine(text: string, json: unknown): string {
  // deno-lint-ignore no-control-regex -- tabs between the values are fine in JSON, an escape there is not
  const hasControls = /[\u0000-\u001f]/.test(text);
  return printableJson(hasControls ? JSON.stringify(json) : text);
}
