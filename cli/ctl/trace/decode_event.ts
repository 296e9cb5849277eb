import { describeError } from "../../../src/base/errors.ts";
import { printableJson } from "../../output/printable.ts";
import type {
  TraceEvent,
  TraceMessage,
  TraceSeverity,
} from "../../../src/telemetry/trace/trace_event.ts";

/** An event as the gateway sent it, which may be of another version than this program. */
export interface ReceivedEvent {
  /** One line of JSON that is safe to print. */
  readonly line: string;
  /** All fields. */
  readonly json: Fields;
  readonly eventStart: number | null;
  readonly eventEnd: number;
  readonly severity: TraceSeverity;
  readonly scope: readonly string[];
  readonly type: string;
  /** `undefined` when the type is unknown here, or has not the fields that it should have. */
  readonly message: TraceMessage | undefined;
}

/** A JSON object that nobody has looked into yet. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a line of a trace: JSON, or a line of the event stream, of which comments and empty lines are `undefined`.
 * @throws {SyntaxError} When it is no event.
 */
export function decodeEvent(line: string): ReceivedEvent | undefined {
  const text = line.startsWith("data:") ? line.slice(5).trim() : line.trim();
  if (text === "" || text.startsWith(":")) return undefined;
  const json = parse(text);
  if (!isObject(json)) throw new SyntaxError("expected a JSON object");
  const { eventStart = null, eventEnd, severity, message, scope = [] } = json;
  if (!isNullable(isNumber)(eventStart) || !isNumber(eventEnd)) {
    throw new SyntaxError(
      'expected microseconds in "eventStart" and "eventEnd"',
    );
  }
  if (!isObject(message) || !isText(message["type"])) {
    throw new SyntaxError('expected a "message" with a "type"');
  }
  return {
    line: toSafeLine(text, json),
    json,
    eventStart: eventStart as number | null,
    eventEnd,
    severity: isSeverity(severity) ? severity : "info",
    scope: isListOf(isText)(scope) ? scope as readonly string[] : [],
    type: message["type"],
    message: decodeMessage(message),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SyntaxError(`expected JSON: ${describeError(error)}`);
  }
}

/** As it came, but for what a terminal may obey. */
function toSafeLine(text: string, json: unknown): string {
  // deno-lint-ignore no-control-regex -- tabs between the values are fine in JSON, an escape there is not
  const hasControls = /[\u0000-\u001f]/.test(text);
  return printableJson(hasControls ? JSON.stringify(json) : text);
}

function decodeMessage(message: Fields): TraceMessage | undefined {
  const type = message["type"] as string;
  if (!Object.hasOwn(shapes, type)) return undefined;
  const shape: Shape = shapes[type as TraceMessage["type"]];
  const fits = Object.entries(shape).every(([name, fits]) =>
    fits(message[name])
  );
  return fits ? message as unknown as TraceMessage : undefined;
}

type Check = (value: unknown) => boolean;
type Shape = Readonly<Record<string, Check>>;

/** What the fields must be for everybody to rely on them. */
const shapes = {
  requestStarted: {},
  requestSnapshot: { stage: isText, requestState: isRequestState },
  responseSnapshot: { stage: isText, requestState: isRequestState },
  bodySnapshot: { stage: isText, body: isText },
  policySelection: { phase: isText, effectivePolicy: isObject },
  routeSelection: {
    selectedRoute: isNullable(isText),
    evaluatedRoutes: isListOf(isText),
  },
  policy: { kind: isText, result: isPolicyResult },
  policyEvent: { kind: isText },
  cel: { expr: isText },
  authorizationResult: {
    rules: isListOf(isShaped({ name: isText, matched: isBoolean })),
    result: isText,
  },
  rateLimit: {
    kind: isText,
    entries: isListOf(isShaped({
      name: isText,
      unit: isText,
      limit: isNumber,
      remaining: isNumber,
      resetSeconds: isNumber,
      verdict: isText,
    })),
    result: isText,
  },
  backendCallStart: { target: isText },
  backendCallResult: {
    status: isNullable(isNumber),
    error: isNullable(isText),
  },
  llmUsage: {
    provider: isText,
    model: isNullable(isText),
    inputTokens: isNumber,
    outputTokens: isNumber,
    debit: isNumber,
  },
  eventsDropped: { count: isNumber },
  requestFinished: { status: isNullable(isNumber), error: isNullable(isText) },
} satisfies Readonly<Record<TraceMessage["type"], Shape>>;

function isRequestState(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { request, response, backend } = value;
  const target = { method: isText, uri: isText, pathAndQuery: isText };
  return isShaped(target)(request) &&
    isOptional(isShaped({ code: isNumber }))(response) &&
    isOptional(isShaped({ name: isText }))(backend);
}

function isPolicyResult(value: unknown): boolean {
  if (!isObject(value)) return false;
  switch (value["type"]) {
    case "skip":
      return isText(value["reason"]);
    case "reject":
      return isText(value["reason"]) && isNumber(value["status"]);
    default:
      return value["type"] === "apply";
  }
}

function isSeverity(value: unknown): value is TraceEvent["severity"] {
  return value === "success" || value === "info" || value === "warn" ||
    value === "error";
}

/** Whether it is a JSON object. */
export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

function isNullable(check: Check): Check {
  return (value) => value === null || value === undefined || check(value);
}

function isOptional(check: Check): Check {
  return (value) => value === undefined || check(value);
}

function isListOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check);
}

function isShaped(shape: Shape): Check {
  return (value) =>
    isObject(value) &&
    Object.entries(shape).every(([name, check]) => check(value[name]));
}
