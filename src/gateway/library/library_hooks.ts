import { protectedHeaders } from "../../base/wire/protected_headers.ts";
import { textBody } from "../../http/body.ts";
import { isFieldName, isFieldValue } from "../../http/field_syntax.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { Policy, PolicyContext } from "../../policy/contract/policy.ts";
import { Rejection } from "../../policy/contract/rejection.ts";

/** Effects of a policy on requests and responses. If a hook throws, or its result is invalid, the client gets 500. */
export interface PolicyHooks {
  /** Called before the request goes upstream; a result rejects the request. */
  onRequest?(
    request: PolicyRequest,
  ): PolicyRejection | undefined | Promise<PolicyRejection | undefined>;
  /** Called with each response, including those of rejections. */
  onResponse?(
    response: PolicyResponse,
    request: PolicyRequest,
  ): void | Promise<void>;
}

/** A request in the gateway. */
export interface PolicyRequest {
  /** Value of `x-request-id`. */
  readonly id: string;
  /** Case-sensitive, such as `GET`. */
  readonly method: string;
  /** `http` or `https`: scheme of the client's connection. */
  readonly scheme: string;
  /** `host` or `host:port`. */
  readonly authority: string;
  /** Path and query, such as `/a?b=1`. */
  readonly target: string;
  /** IP address of the client. */
  readonly clientAddress: string;
  /** Headers for the upstream. */
  readonly headers: PolicyHeaders;
}

/** A response in the gateway. */
export interface PolicyResponse {
  /** Status of the upstream, or of the gateway's own response. */
  readonly status: number;
  /** Headers for the client. */
  readonly headers: PolicyHeaders;
}

/** Response to a request that a policy rejects. */
export interface PolicyRejection {
  /** From 200 to 599. */
  readonly status: number;
  /** One sentence for log and trace, without secrets; the client does not see it. */
  readonly message: string;
  /** Headers for the client; none by default. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Body for the client; none by default. */
  readonly body?: string;
}

/** Headers of a message; names are case-insensitive. */
export interface PolicyHeaders {
  /** Returns the value, or repeated values joined by commas; `undefined` when there is none. */
  get(name: string): string | undefined;
  /** Replaces all values. @throws {TypeError} For an invalid name or value, and for headers that only the gateway writes. */
  set(name: string, value: string): void;
  /** Removes all values. @throws {TypeError} For headers that only the gateway writes. */
  delete(name: string): void;
}

/** Creates the policy that runs the hooks; its rejections have the reason. */
export function adaptHooks(
  reason: string,
  { onRequest, onResponse }: PolicyHooks,
): Policy<string> {
  const toOutcome = (
    rejection: PolicyRejection | undefined,
    { trace }: PolicyContext,
  ) => {
    if (rejection === undefined) {
      trace?.apply({});
      return undefined;
    }
    return new Rejection(reason, rejection.message, responseOf(rejection));
  };
  return {
    ...(onRequest !== undefined && {
      onRequest(context) {
        const result = onRequest(requestOf(context));
        return result instanceof Promise
          ? result.then((rejection) => toOutcome(rejection, context))
          : toOutcome(result, context);
      },
    }),
    ...(onResponse !== undefined && {
      onResponse: (context, { status, headers }) =>
        onResponse(
          { status, headers: new CheckedHeaders(headers) },
          requestOf(context),
        ),
    }),
  };
}

function requestOf({ request, requestId }: PolicyContext): PolicyRequest {
  const { method, scheme, authority, target, source, headers } = request;
  return {
    id: requestId,
    method,
    scheme,
    authority,
    target,
    clientAddress: source.address,
    headers: new CheckedHeaders(headers),
  };
}

function responseOf(
  { status, headers = {}, body }: PolicyRejection,
): ResponseMessage {
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new TypeError(
      `Cannot respond with status ${status}: expected 200 to 599`,
    );
  }
  const list = new HeaderList();
  const checked = new CheckedHeaders(list);
  for (const [name, value] of Object.entries(headers)) checked.set(name, value);
  return {
    status,
    headers: list,
    body: body === undefined ? undefined : textBody(body),
  };
}

/** Headers that reject invalid fields, which could split a message. */
class CheckedHeaders implements PolicyHeaders {
  readonly #headers: HeaderList;

  constructor(headers: HeaderList) {
    this.#headers = headers;
  }

  get(name: string): string | undefined {
    return this.#headers.getJoined(name.toLowerCase());
  }

  set(name: string, value: string): void {
    if (!isFieldValue(value)) {
      throw new TypeError(`Cannot set header "${name}": the value is invalid`);
    }
    this.#headers.set(writableName(name), value);
  }

  delete(name: string): void {
    this.#headers.delete(writableName(name));
  }
}

function writableName(name: string): string {
  const lower = name.toLowerCase();
  if (!isFieldName(name)) {
    throw new TypeError("Cannot change a header: the name is invalid");
  }
  if (protectedHeaders.has(lower)) {
    throw new TypeError(
      `Cannot change header "${name}": the gateway writes it`,
    );
  }
  return lower;
}
