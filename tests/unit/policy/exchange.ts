import { Cancellation } from "../../../src/base/cancellation.ts";
import { HeaderList } from "../../../src/http/header_list.ts";
import type {
  RequestMessage,
  ResponseMessage,
} from "../../../src/http/message.ts";
import type {
  Policy,
  PolicyContext,
  RequestVerdict,
} from "../../../src/policy/contract/policy.ts";
import { Rejection } from "../../../src/policy/contract/rejection.ts";
import { Slots } from "../../../src/policy/contract/slot.ts";

/** Header fields as pairs, such as `{ origin: "https://a.example" }`. */
type Headers = Readonly<Record<string, string>>;

/** Creates the context of a policy; omitted fields are those of a plain `GET http://gw.example/`. */
export function context(
  { matchedPrefix, headers = {}, ...fields }:
    & Partial<
      Pick<RequestMessage, "method" | "scheme" | "authority" | "target">
    >
    & { readonly headers?: Headers; readonly matchedPrefix?: string },
): PolicyContext & { readonly request: RequestMessage } {
  const request: RequestMessage = {
    version: "1.1",
    method: "GET",
    scheme: "http",
    authority: "gw.example",
    target: "/",
    headers: HeaderList.from(Object.entries(headers)),
    body: undefined,
    upgrade: undefined,
    expectsContinue: false,
    source: { address: "127.0.0.1", port: 50000 },
    serverName: undefined,
    cancellation: new Cancellation(),
    sendInformational: () => {},
    ...fields,
  };
  return {
    request,
    client: request.source,
    requestId: "test",
    acceptedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
    gateway: "public",
    matchedPrefix,
    requiredScopes: [],
    slots: new Slots(),
  };
}

/** A response as an upstream or another policy gives it. */
export function response(headers: Headers = {}, status = 200): ResponseMessage {
  return {
    status,
    headers: HeaderList.from(Object.entries(headers)),
    body: undefined,
  };
}

/** The answer of a request hook that is expected to answer. */
export async function answer(
  policy: Policy,
  to: PolicyContext,
): Promise<ResponseMessage> {
  const response = responseOf(await policy.onRequest?.(to));
  if (response === undefined) {
    throw new Error("the policy let the request pass");
  }
  return response;
}

/** Returns the response of a verdict; `undefined` when the request continues. */
export function responseOf(
  verdict: RequestVerdict,
): ResponseMessage | undefined {
  return verdict instanceof Rejection ? verdict.response : verdict ?? undefined;
}

/** Returns the message of a rejection, as in the access log. */
export async function rejectionOf(
  policy: Policy,
  on: PolicyContext,
): Promise<{ readonly reason: string; readonly error: string }> {
  const verdict = await policy.onRequest?.(on);
  if (!(verdict instanceof Rejection)) {
    throw new Error("the policy did not refuse");
  }
  return { reason: verdict.reason, error: verdict.message };
}

/** Header fields as an object; the values of a repeated one joined. */
export function headersOf(
  { headers }: { readonly headers: HeaderList },
): Record<string, string> {
  const fields: Record<string, string> = {};
  headers.forEach((name, value) => {
    const key = name.toLowerCase();
    fields[key] = fields[key] === undefined
      ? value
      : `${fields[key]}, ${value}`;
  });
  return fields;
}
