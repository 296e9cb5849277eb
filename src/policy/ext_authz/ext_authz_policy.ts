import { parseDuration } from "../../api/schema/duration.ts";
import { createDeadline, unlessCancelled } from "../../base/cancellation.ts";
import { describeError } from "../../base/errors.ts";
import { formatHostPort, splitHostPort } from "../../base/wire/host_port.ts";
import { BytesBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import { lookAlikeRemover } from "../../http/look_alikes.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import { removeLoginCookies } from "../../identity/openid/login_cookies.ts";
import { rejectWith } from "../authentication/auth_responses.ts";
import type {
  Policy,
  PolicyContext,
  RequestVerdict,
} from "../contract/policy.ts";
import type { PolicyOptions } from "../contract/policy_kind.ts";
import { servicesIn } from "../contract/policy_services.ts";
import { Rejection } from "../contract/rejection.ts";
import { defineSlot } from "../contract/slot.ts";
import { peekBody } from "../expressions/peeked_body.ts";
import {
  type AskAuthorizer,
  grpcAuthorizer,
  httpAuthorizer,
} from "./authorizer.ts";
import { type AuthorizerPlace, authorizerServices } from "./authorizers.ts";
import {
  type AllowedRequest,
  applyChanges,
  type AuthorizerVerdict,
} from "./authorizer_verdict.ts";
import { authorizerMetadata } from "../authentication/request_identity.ts";
import type { CheckRequest } from "./check_messages.ts";
import type { ExtAuthz } from "./ext_authz_schema.ts";

/** Headers that the authorizer adds to the response. */
const addedHeaders = defineSlot<HeaderList>("addedHeaders");

/** Without them, an authorizer would read a body in another way than the backend. */
const bodyHeaders = ["content-encoding", "content-type"];

type ExtAuthzVerdict = RequestVerdict<"ext_authz">;

/** Creates the policy. */
export function createExtAuthz(
  config: ExtAuthz,
  options: PolicyOptions,
): Policy<"ext_authz"> {
  return new ExtAuthzPolicy(config, createAuthorizer(config, options), options);
}

/** Creates what asks the authorizer; one that cannot be called fails for each request. */
function createAuthorizer(
  { grpc, http, headersToBackend = [] }: ExtAuthz,
  options: PolicyOptions,
): AskAuthorizer {
  const place = placeOf(grpc ?? http ?? {}, options);
  if (place === undefined) {
    return () => Promise.reject(new Error("the backend cannot be called"));
  }
  const { upstream } = servicesIn(options.services, authorizerServices);
  if (http !== undefined) {
    const copied = headersToBackend.map((name) => name.toLowerCase());
    return httpAuthorizer(upstream(place), http.path ?? "", copied);
  }
  const { host, port, tls } = place;
  const authority = formatHostPort(tls?.hostname ?? host, port);
  const connection = upstream({ ...place, protocol: "http2" });
  return grpcAuthorizer(connection, authority);
}

function placeOf(
  { host, backendRef }: Pick<
    NonNullable<ExtAuthz["grpc"]>,
    "host" | "backendRef"
  >,
  { connectionOf }: PolicyOptions,
): AuthorizerPlace | undefined {
  if (backendRef !== undefined) return connectionOf(backendRef);
  const address = splitHostPort(host ?? "");
  return address && { ...address, protocol: "auto", tls: undefined };
}

class ExtAuthzPolicy implements Policy<"ext_authz"> {
  readonly #config: ExtAuthz;
  readonly #ask: AskAuthorizer;
  readonly #options: PolicyOptions;
  readonly #timeoutMs: number;
  /** Headers that only the authorizer sets. */
  readonly #own: readonly string[];
  readonly #removeLookAlikes: (headers: HeaderList) => void;
  /** `undefined` for all. */
  readonly #sent: ReadonlySet<string> | undefined;

  constructor(config: ExtAuthz, ask: AskAuthorizer, options: PolicyOptions) {
    const { headersToExtAuth, headersToBackend = [], bodyToExtAuth, grpc } =
      config;
    this.#config = config;
    this.#ask = ask;
    this.#options = options;
    this.#timeoutMs = parseDuration(config.timeout);
    this.#own = headersToBackend.map((name) => name.toLowerCase());
    this.#removeLookAlikes = lookAlikeRemover(this.#own);
    this.#sent = grpc !== undefined && headersToExtAuth === undefined
      ? undefined
      : new Set(
        [
          "authorization",
          ...bodyToExtAuth === undefined ? [] : bodyHeaders,
          ...headersToExtAuth ?? [],
        ].map((name) => name.toLowerCase()),
      );
  }

  async onRequest(context: PolicyContext): Promise<ExtAuthzVerdict> {
    const { request, trace } = context;
    for (const name of this.#own) request.headers.delete(name);
    this.#removeLookAlikes(request.headers);
    const body = await this.#readBody(request);
    if (body === "tooLong") return tooLong();
    let verdict: AuthorizerVerdict;
    try {
      const pending = this.#askInTime(this.#describe(context, body), request);
      verdict = await (trace?.waitsFor("external authorizer", pending) ??
        pending);
    } catch (error) {
      if (request.cancellation.cancelled) throw request.cancellation.reason;
      return this.#fail(error, context);
    }
    if (verdict.kind === "allowed") return this.#allow(verdict, context);
    const { status, headers } = verdict;
    return new Rejection(
      "ext_authz",
      `Denied by the external authorizer with status ${status}`,
      { status, headers, body: new BytesBody(verdict.body) },
    );
  }

  onResponse({ slots }: PolicyContext, response: ResponseMessage): void {
    for (const [name, value] of slots.get(addedHeaders) ?? []) {
      response.headers.append(name, value);
    }
  }

  #allow(
    verdict: AllowedRequest,
    { request, slots, trace }: PolicyContext,
  ): void {
    const { metadata, changes, removed, responseHeaders } = verdict;
    lookAlikeRemover([...changes.map(({ name }) => name), ...removed])(
      request.headers,
    );
    applyChanges(request.headers, verdict);
    slots.set(authorizerMetadata, metadata);
    if (responseHeaders.size > 0) slots.set(addedHeaders, responseHeaders);
    trace?.apply({
      headers: changes.map(({ name }) => name),
      removed: [...removed],
      metadata: Object.keys(metadata),
    });
  }

  #fail(error: unknown, { trace }: PolicyContext): ExtAuthzVerdict {
    const message = `The external authorizer is not available: ${
      this.#options.hide(describeError(error))
    }`;
    if (this.#config.failureMode === "Open") {
      this.#options.services.log.warn(
        "Request forwarded without its authorizer",
        { policy: this.#options.owner, error },
      );
      trace?.skip(message);
      return;
    }
    const description = "the authorizer is not available";
    const headers = { "retry-after": "1" };
    return new Rejection(
      "ext_authz",
      message,
      rejectWith("temporarily_unavailable", description, headers),
    );
  }

  async #askInTime(
    check: CheckRequest,
    { cancellation: ofRequest }: RequestMessage,
  ): Promise<AuthorizerVerdict> {
    const { cancellation, lift } = createDeadline(
      ofRequest,
      this.#options.services.clock,
      this.#timeoutMs,
      () => new Error(`no response within ${this.#timeoutMs} ms`),
    );
    try {
      return await unlessCancelled(
        this.#ask(check, cancellation),
        cancellation,
      );
    } finally {
      lift();
    }
  }

  /** Reads the body, which stays in the request; `undefined` if it is not sent. */
  async #readBody(
    request: RequestMessage,
  ): Promise<Uint8Array | "tooLong" | undefined> {
    const { bodyToExtAuth } = this.#config;
    if (bodyToExtAuth === undefined) return undefined;
    return await peekBody(request, bodyToExtAuth.maxRequestBytes) ?? "tooLong";
  }

  #describe(
    { request, requestId, client }: PolicyContext,
    body: Uint8Array | undefined,
  ): CheckRequest {
    const { method, target, authority, scheme, version } = request;
    const headers = request.headers.copy();
    removeLoginCookies(headers);
    const names = new Set<string>();
    headers.forEach((name) => names.add(name.toLowerCase()));
    const sent = [...names].filter((name) => this.#sent?.has(name) ?? true);
    return {
      id: requestId,
      method,
      path: target,
      host: authority,
      scheme,
      protocol: version === "2" ? "HTTP/2" : `HTTP/${version}`,
      headers: [
        [":method", method],
        [":path", target],
        [":authority", authority],
        [":scheme", scheme],
        ...sent.map((name): [string, string] => [
          name,
          headers.getAll(name).join(name === "cookie" ? "; " : ","),
        ]),
      ],
      body,
      source: client,
      contextExtensions: this.#config.grpc?.contextExtensions ?? {},
    };
  }
}

function tooLong(): Rejection<"ext_authz"> {
  const message = "the body is too long for the authorizer";
  return new Rejection(
    "ext_authz",
    message,
    rejectWith("payload_too_large", message),
  );
}
