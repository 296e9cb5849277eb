/** Summarizes trace events and compares snapshots. */

/** Summarizes an event in one line. */
export function summarize({ message }) {
  return (summaries[message.type] ?? (() => ""))(message);
}

const summaries = {
  requestSnapshot: ({ stage, requestState: { request } }) =>
    `${stage}: ${describeRequest(request)}`,
  responseSnapshot: ({ stage, requestState: { response } }) =>
    `${stage}: ${response?.code ?? ""}`,
  bodySnapshot: ({ stage, truncated }) =>
    truncated ? `${stage}, truncated` : stage,
  policySelection: ({ phase, effectivePolicy }) => {
    const kinds = Object.keys(effectivePolicy).filter((kind) =>
      effectivePolicy[kind] !== null
    );
    return `${phase}: ${kinds.join(", ") || "none"}`;
  },
  routeSelection: ({ selectedRoute, evaluatedRoutes }) =>
    `${selectedRoute ?? "no route"}, ${evaluatedRoutes.length} evaluated`,
  policy: ({ kind, result }) =>
    [kind, result.type, result.status, result.reason].filter(Boolean).join(" "),
  policyEvent: ({ kind }) => kind,
  cel: ({ expr }) => expr,
  authorizationResult: ({ result, rules }) =>
    `${result}, ${rules.length} rules`,
  rateLimit: ({ kind, result, entries }) =>
    `${kind}: ${result}, ${entries.length} budgets`,
  backendCallStart: ({ target }) => target,
  backendCallResult: ({ status, error }) => error ?? String(status),
  llmUsage: ({ provider, debit }) => `${provider}: ${debit} tokens`,
  eventsDropped: ({ count }) => `${count} events dropped`,
  requestFinished: ({ status, error, reason }) =>
    [status, reason, error].filter(Boolean).join(" "),
};

function describeRequest({ method, pathAndQuery, path }) {
  return `${method} ${pathAndQuery ?? path}`;
}

/** Splits a stream of events into requests. */
export class RequestLog {
  requests = [];

  /** Adds an event and returns its request. */
  add(event) {
    const { message } = event;
    if (message.type === "requestStarted" || this.requests.length === 0) {
      const number = this.requests.length + 1;
      this.requests.push({ number, events: [], title: `Request ${number}` });
    }
    const request = this.requests.at(-1);
    request.events.push(event);
    const original = message.requestState?.request;
    if (original !== undefined && request.line === undefined) {
      request.line = describeRequest(original);
    }
    if (message.type === "requestFinished") request.status = message.status;
    request.title = [
      request.line ?? `Request ${request.number}`,
      request.status,
    ]
      .filter((part) => part !== undefined && part !== null).join(" → ");
    return request;
  }
}

/** Returns the changes of the snapshot at `index` against the previous one; `undefined` when there is none. */
export function differences(events, index) {
  const state = events[index].message.requestState;
  const before = events.slice(0, index).findLast(({ message }) =>
    message.type.endsWith("Snapshot") && message.requestState !== undefined
  );
  if (state === undefined || before === undefined) return undefined;
  return diff(before.message.requestState, state);
}

/** Compares two states: `[{ path: "request.headers.x-a", before: "1", after: "2" }]`; `undefined` for absent values. */
export function diff(before, after) {
  const [old, now] = [flatten(before), flatten(after)];
  const paths = [...new Set([...old.keys(), ...now.keys()])];
  return paths.filter((path) => old.get(path) !== now.get(path))
    .map((path) => ({ path, before: old.get(path), after: now.get(path) }));
}

function flatten(value, path = "", into = new Map()) {
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
export function bodyText(base64) {
  const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}
