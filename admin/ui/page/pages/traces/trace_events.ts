/** Summarizes trace events and compares snapshots. */

/** A header, a claim or another part of a snapshot. */
type State = Readonly<Record<string, unknown>>;

interface RequestState {
  readonly method: string;
  readonly path?: string;
  readonly pathAndQuery?: string;
}

/** The fields of messages that the page shows by themselves; the rest is shown as JSON. */
interface TraceMessage {
  readonly type: string;
  readonly stage?: string;
  readonly phase?: string;
  readonly kind?: string;
  readonly requestState?: {
    readonly request?: RequestState;
    readonly response?: { readonly code?: number };
  };
  readonly effectivePolicy?: State;
  readonly selectedRoute?: string | null;
  readonly evaluatedRoutes?: readonly string[];
  readonly result?: unknown;
  readonly rules?: readonly unknown[];
  readonly entries?: readonly unknown[];
  readonly expr?: string;
  readonly target?: string;
  readonly status?: number | null;
  readonly error?: string | null;
  readonly reason?: string | null;
  readonly provider?: string;
  readonly debit?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly costUsd?: number;
  readonly count?: number;
  readonly truncated?: boolean;
  /** Base64. */
  readonly body?: string;
}

/** An event of a trace. */
export interface TraceEvent {
  /** Microseconds since the request; `null` for something that took no time. */
  readonly eventStart?: number | null;
  readonly eventEnd?: number | null;
  readonly severity?: string;
  readonly message: TraceMessage;
}

/** A request of a live trace. */
export interface TracedRequest {
  readonly number: number;
  readonly events: readonly TraceEvent[];
  readonly title: string;
  readonly status: number | undefined;
}

/** Summarizes an event in one line. */
export function summarize({ message }: TraceEvent): string {
  return summaries[message.type]?.(message) ?? "";
}

const summaries: Readonly<Record<string, (message: TraceMessage) => string>> = {
  requestSnapshot: ({ stage, requestState }) =>
    `${stage}: ${describeRequest(requestState?.request) ?? ""}`,
  responseSnapshot: ({ stage, requestState }) =>
    `${stage}: ${requestState?.response?.code ?? ""}`,
  bodySnapshot: ({ stage, truncated }) =>
    `${stage}${truncated ? ", truncated" : ""}`,
  policySelection: ({ phase, effectivePolicy = {} }) => {
    const kinds = Object.keys(effectivePolicy).filter((kind) =>
      effectivePolicy[kind] !== null
    );
    return `${phase}: ${kinds.join(", ") || "none"}`;
  },
  routeSelection: ({ selectedRoute, evaluatedRoutes = [] }) =>
    `${selectedRoute ?? "no route"}, ${evaluatedRoutes.length} evaluated`,
  policy: ({ kind, result }) => {
    const { type, status, reason } = asRecord(result);
    return [kind, type, status, reason].filter(Boolean).join(" ");
  },
  policyEvent: ({ kind = "" }) => kind,
  cel: ({ expr = "" }) => expr,
  authorizationResult: ({ result, rules = [] }) =>
    `${result}, ${rules.length} ${rules.length === 1 ? "rule" : "rules"}`,
  rateLimit: ({ kind, result, entries = [] }) =>
    `${kind}: ${result}, ${entries.length} budgets`,
  backendCallStart: ({ target = "" }) => target,
  backendCallResult: ({ status, error }) => error ?? String(status),
  llmUsage: ({ provider, debit }) => `${provider}: ${debit} tokens`,
  eventsDropped: ({ count }) => `${count} events dropped`,
  requestFinished: ({ status, error, reason }) =>
    [status, reason, error].filter(Boolean).join(" "),
};

function describeRequest(
  request: RequestState | undefined,
): string | undefined {
  return request && `${request.method} ${request.pathAndQuery ?? request.path}`;
}

/** Splits a stream of events into requests: returns the requests with one more event. */
export function addEvent(
  requests: readonly TracedRequest[],
  event: TraceEvent,
): readonly TracedRequest[] {
  const { message } = event;
  const last = requests.at(-1);
  const isNew = message.type === "requestStarted" || last === undefined;
  const number = isNew ? requests.length + 1 : last.number;
  const events = isNew ? [event] : [...last.events, event];
  const first = events.find((each) => each.message.requestState?.request);
  const line = describeRequest(first?.message.requestState?.request) ??
    `Request ${number}`;
  const status = message.type === "requestFinished"
    ? message.status ?? undefined
    : undefined;
  const title = status === undefined ? line : `${line} → ${status}`;
  return [...isNew ? requests : requests.slice(0, -1), {
    number,
    events,
    title,
    status,
  }];
}

/** A value that differs between two snapshots; `undefined` where it is absent. */
export interface Change {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Returns the changes of the snapshot at `index` against the previous one; `undefined` when there is none. */
export function differences(
  events: readonly TraceEvent[],
  index: number,
): readonly Change[] | undefined {
  const state = events[index]?.message.requestState;
  const before = events.slice(0, index).findLast(({ message }) =>
    message.type.endsWith("Snapshot") && message.requestState !== undefined
  );
  if (state === undefined || before === undefined) return undefined;
  return diff(before.message.requestState, state);
}

/** Compares two states by their paths, such as `request.headers.x-a`. */
export function diff(before: unknown, after: unknown): readonly Change[] {
  const [old, now] = [flatten(before), flatten(after)];
  const paths = [...new Set([...old.keys(), ...now.keys()])];
  return paths.filter((path) => old.get(path) !== now.get(path))
    .map((path) => ({ path, before: old.get(path), after: now.get(path) }));
}

function flatten(
  value: unknown,
  path = "",
  into = new Map<string, string>(),
): Map<string, string> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    for (const [name, part] of Object.entries(value)) {
      flatten(part, path === "" ? name : `${path}.${name}`, into);
    }
  } else {
    into.set(path, typeof value === "string" ? value : JSON.stringify(value));
  }
  return into;
}

/** Decodes Base64 to text; invalid bytes become `�`. */
export function bodyText(base64: string): string {
  const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}

function asRecord(value: unknown): State {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** The part of a request's time that an event took, as shares between 0 and 1. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Returns the spans of events in a waterfall; `undefined` for events without a time. */
export function spansOf(
  events: readonly TraceEvent[],
): readonly (Span | undefined)[] {
  const total = Math.max(1, ...events.map(({ eventEnd }) => eventEnd ?? 0));
  return events.map(({ eventStart, eventEnd }) => {
    if (eventEnd === undefined || eventEnd === null) return undefined;
    return { from: (eventStart ?? eventEnd) / total, to: eventEnd / total };
  });
}
