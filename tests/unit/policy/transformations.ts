import { jwtClaims } from "../../../src/policy/authentication/request_identity.ts";
import type {
  MessageChanges,
  Transformation,
} from "../../../src/policy/transformation/transformation_schema.ts";
import { type Body, textBody } from "../../../src/http/body.ts";
import type { ResponseMessage } from "../../../src/http/message.ts";
import type {
  Policy,
  PolicyContext,
} from "../../../src/policy/contract/policy.ts";
import { noopServices } from "../../../src/policy/noop_services.ts";
import { createTransformation } from "../../../src/policy/transformation/transformation_policy.ts";
import { RecordedLog } from "../../harness/telemetry/recorded_log.ts";
import { context, headersOf, response } from "./exchange.ts";

/** Limit of buffered bodies in these tests. */
export const maxBufferBytes = 64;

/** A policy, and what it logs: `warn A body was emptied… {…}`. */
export function transformation(config: Transformation) {
  const log = new RecordedLog();
  const policy = createTransformation(config, {
    hide: (text) => text,
    services: { ...noopServices(), maxBufferBytes, log },
  });
  return { policy, lines: log.lines };
}

/** Values of expressions by header: `{ "x-user": "jwt.sub" }`. */
export function set(
  values: Readonly<Record<string, string>>,
): NonNullable<MessageChanges["set"]> {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

type Request = Parameters<typeof context>[0] & {
  readonly claims?: Record<string, unknown>;
  readonly body?: string | Body;
};

/** A context with claims and a body. */
export function contextOf({ claims, body, ...request }: Request) {
  const on = context(request);
  if (claims !== undefined) on.slots.set(jwtClaims, claims);
  on.request.body = typeof body === "string" ? textBody(body) : body;
  return on;
}

/** Returns the transformed request: headers, pseudo headers and body. */
export async function changeRequest(
  changes: MessageChanges,
  request: Request = {},
) {
  const on = contextOf(request);
  await transformation({ request: changes }).policy.onRequest?.(on);
  const { method, target, authority, scheme } = on.request;
  return {
    headers: headersOf(on.request),
    method,
    target,
    authority,
    scheme,
    body: await textOf(on.request.body),
  };
}

/** Returns the transformed response. */
export async function changeResponse(
  changes: MessageChanges,
  { body, status, headers, ...rest }:
    & Partial<Omit<ResponseMessage, "headers" | "body">>
    & {
      readonly headers?: Record<string, string>;
      readonly body?: string | Body;
    } = {},
  request: Request = {},
) {
  const on = contextOf(request);
  const answer = {
    ...response(headers, status),
    ...rest,
    body: typeof body === "string" ? textBody(body) : body,
  };
  const { policy } = transformation({ response: changes });
  await runBoth(policy, on, answer);
  return {
    status: answer.status,
    headers: headersOf(answer),
    body: await textOf(answer.body),
  };
}

/** Both hooks, one after the other. */
export async function runBoth(
  policy: Policy,
  on: PolicyContext,
  answer: ResponseMessage,
): Promise<void> {
  await policy.onRequest?.(on);
  await policy.onResponse?.(on, answer);
}

/** The rest of a body; `undefined` when there is none. */
export async function textOf(
  body: Body | undefined,
): Promise<string | undefined> {
  if (body === undefined) return undefined;
  let text = "";
  for (let chunk = await body.read(); chunk; chunk = await body.read()) {
    text += new TextDecoder().decode(chunk);
  }
  return text;
}
