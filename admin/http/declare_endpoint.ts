import type { PathOf } from "./roles.ts";
import type { OperationText } from "./operation_text.ts";
import type { Endpoint, Handler } from "./router.ts";

/** Declares an endpoint that is read. */
export function get(
  path: PathOf<"GET">,
  handler: Handler,
  text: OperationText,
): Endpoint {
  return { path, methods: { GET: handler }, texts: { GET: text } };
}

/** Declares an endpoint that is read, and whose response is endless or expensive. */
export function stream(
  path: PathOf<"GET">,
  handler: Handler,
  text: OperationText,
): Endpoint {
  return { ...get(path, handler, text), isStream: true };
}

/** Declares an endpoint that changes something. */
export function post(
  path: PathOf<"POST">,
  handler: Handler,
  text: OperationText,
): Endpoint {
  return { path, methods: { POST: handler }, texts: { POST: text } };
}

/** Declares a path that is read and changed. */
export function both(read: Endpoint, change: Endpoint): Endpoint {
  return {
    ...read,
    methods: { ...read.methods, ...change.methods },
    texts: { ...read.texts, ...change.texts },
  };
}
