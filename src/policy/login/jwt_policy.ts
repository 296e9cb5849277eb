import { servicesIn } from "../contract/policy_services.ts";
import { loginServices } from "./login_services.ts";
import { parseDuration } from "../../api/schema/duration.ts";
import type { JwtAuthentication } from "./schema/jwt_schema.ts";
import { unlessCancelled } from "../../base/cancellation.ts";
import { describeError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { exposedHeaders } from "../http/cors.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { DocumentUnavailableError } from "../../identity/documents/remote_document.ts";
import { TokenError } from "../../identity/tokens/token.ts";
import type { TokenVerifier } from "../../identity/tokens/token_verifier.ts";
import { isVerificationError } from "../../identity/tokens/verification_error.ts";
import type { BearerChallenge } from "../authentication/auth_responses.ts";
import {
  protectedResource,
  setTokenClaims,
  tokenScheme,
} from "../authentication/request_identity.ts";
import { isAuthenticated } from "../contract/alternatives.ts";
import { createIntrospector } from "./introspection_settings.ts";
import { keySource } from "./jwt_keys.ts";
import { issuersOf } from "./login_provider.ts";
import {
  type AccessGrant,
  isOwnToken,
} from "../../identity/oauth/grants/access_token.ts";
import { createMcpOAuth } from "./create_mcp_oauth.ts";
import type { McpOAuth } from "./mcp_oauth.ts";
import type {
  Policy,
  PolicyContext,
  ReadableBy,
  RequestVerdict,
} from "../contract/policy.ts";
import type { PolicyOptions } from "../contract/policy_kind.ts";
import { assertedIssuers } from "./machine_access.ts";
import { defineSlot } from "../contract/slot.ts";
import type { PolicyServices } from "../contract/policy_services.ts";
import { clientOrigin } from "./endpoints/client_origin.ts";
import {
  demandToken,
  rejectTemporarily,
  rejectToken,
} from "./jwt_rejections.ts";
import {
  type PresentedToken,
  TokenBinding,
  TokenBindingError,
} from "./binding/token_binding.ts";
import { TokenPlaces } from "./binding/token_places.ts";

/**
 * Verifies the access token of a request and leaves its claims in the slot `jwtClaims`.
 *
 * With an `mcp` block it also serves the OAuth endpoints of the MCP server, and removes the token: MCP forbids forwarding it.
 */
export function createJwtAuthentication(
  config: JwtAuthentication,
  options: PolicyOptions,
): Policy<JwtRejection> {
  const { services } = options;
  const { identity } = servicesIn(services, loginServices);
  const clockSkewMs = parseDuration(config.clockSkew);
  const verifier = identity.verifier({
    providers: config.providers.map((provider) => ({
      issuer: provider.issuer,
      audiences: provider.audiences,
      keys: provider.jwks && keySource(provider.jwks, options),
      introspector: createIntrospector(provider, clockSkewMs, options),
    })),
    clockSkewMs,
    clock: services.clock,
    owner: options.owner,
  });
  const { logins } = servicesIn(services, loginServices);
  const { clock } = services;
  const { tokenBinding = { mode: "Enforce", nonce: false } } = config;
  return new JwtAuthenticationPolicy(config, {
    verifier,
    binding: new TokenBinding(tokenBinding, { clock, clockSkewMs, logins }),
    mcp: createMcpOAuth(config, verifier, options),
    trustsPeer: services.trustsPeer,
  });
}

/** Nonce for the next DPoP proof of the client. */
const nextNonce = defineSlot<string>("nextNonce");

type JwtRejection = "jwt_auth" | "jwt_unknown_key" | "mcp_oauth";
type JwtVerdict = RequestVerdict<JwtRejection>;

/** Parts of the policy. */
interface JwtParts {
  readonly verifier: TokenVerifier;
  readonly binding: TokenBinding;
  readonly mcp: McpOAuth | undefined;
  readonly trustsPeer: PolicyServices["trustsPeer"];
}

class JwtAuthenticationPolicy implements Policy<JwtRejection> {
  readonly #mode: JwtAuthentication["mode"];
  readonly #parts: JwtParts;
  readonly #places: TokenPlaces;
  readonly #hasSeveralIssuers: boolean;

  constructor(
    { mode, location, mcp: config, providers }: JwtAuthentication,
    parts: JwtParts,
  ) {
    this.#mode = mode;
    this.#parts = parts;
    const removesToken = parts.mcp !== undefined &&
      config?.forwardToken !== true;
    this.#places = new TokenPlaces(location, removesToken);
    this.#hasSeveralIssuers = new Set([
      ...issuersOf(providers),
      ...(config === undefined ? [] : assertedIssuers(config)),
    ]).size > 1;
  }

  onRequest(
    context: PolicyContext,
  ): JwtVerdict | Promise<JwtVerdict> {
    const { request, slots } = context;
    const { mcp } = this.#parts;
    if (mcp !== undefined) {
      const outcome = mcp.respond(context);
      if (outcome instanceof Promise) {
        return unlessCancelled(outcome, request.cancellation);
      }
      if (outcome !== undefined) return outcome;
      slots.set(protectedResource, mcp);
    }
    // Also if another credential counts: a token that nobody has checked must not go upstream in its place.
    const presented = this.#places.take(request);
    if (this.#mode === "AnyOf" && slots.get(isAuthenticated)) return;
    if (presented !== undefined) return this.#verify(presented, context);
    if (this.#mode === "Strict" || this.#mode === "AnyOf") {
      return demandToken(this.#demand(context), this.#parts.binding.mode);
    }
    context.trace?.skip("no token");
  }

  onResponse({ slots }: PolicyContext, response: ResponseMessage): void {
    const nonce = slots.get(nextNonce);
    if (nonce !== undefined) response.headers.set("dpop-nonce", nonce);
  }

  readableBy(context: PolicyContext): ReadableBy | undefined {
    return this.#parts.mcp?.readableBy(context);
  }

  /** Verifies a token of the gateway, which stands for one of the provider, or a token of the provider itself. */
  #verify(
    presented: PresentedToken,
    context: PolicyContext,
  ): JwtVerdict | Promise<JwtVerdict> {
    try {
      const grant = this.#parts.mcp?.openToken(presented.token, context);
      if (grant === undefined) return this.#verifyOf(presented, context);
      const verdict = grant instanceof Promise
        ? unlessCancelled(grant, context.request.cancellation)
          .then((each) => this.#verifyGrant(each, presented, context))
        : this.#verifyGrant(grant, presented, context);
      return verdict instanceof Promise
        ? verdict.catch((error) => this.#reject(error, presented, context))
        : verdict;
    } catch (error) {
      return this.#reject(error, presented, context);
    }
  }

  #verifyGrant(
    { subject }: AccessGrant,
    presented: PresentedToken,
    context: PolicyContext,
  ): JwtVerdict | Promise<JwtVerdict> {
    if ("claims" in subject) {
      this.#places.replace(context.request, undefined);
      return this.#checkBinding(presented, subject.claims, context);
    }
    const { token } = subject;
    this.#places.replace(context.request, token);
    return this.#verifyOf({ ...presented, token }, context);
  }

  #verifyOf(
    presented: PresentedToken,
    context: PolicyContext,
  ): JwtVerdict | Promise<JwtVerdict> {
    const { request, trace } = context;
    try {
      const claims = this.#parts.verifier.verify(
        presented.token,
        trace && ((whom, pending) => trace.waitsFor(whom, pending)),
      );
      const verdict = claims instanceof Promise
        ? claims.then((each) => this.#checkBinding(presented, each, context))
        : this.#checkBinding(presented, claims, context);
      return verdict instanceof Promise
        ? unlessCancelled(verdict, request.cancellation)
          .catch((error) => this.#reject(error, presented, context))
        : verdict;
    } catch (error) {
      return this.#reject(error, presented, context);
    }
  }

  #checkBinding(
    presented: PresentedToken,
    claims: JsonObject,
    context: PolicyContext,
  ): void | Promise<void> {
    const { mcp, binding, trustsPeer } = this.#parts;
    const { request, slots } = context;
    const url = () => {
      const origin = mcp?.originOf(context) ??
        clientOrigin(request, trustsPeer(request.source));
      return origin + request.target;
    };
    const bound = { request, claims, url, slots };
    const checking = binding.check(presented, bound);
    if (checking === undefined) return this.#accept(presented, claims, context);
    return checking.then((nonce) => {
      if (nonce !== undefined) slots.set(nextNonce, nonce);
      this.#accept(presented, claims, context);
    });
  }

  #accept(
    { token, scheme }: PresentedToken,
    claims: JsonObject,
    { slots, trace }: PolicyContext,
  ): void {
    // No service can do anything with a token of the gateway.
    const theirs = isOwnToken(token) ? undefined : token;
    setTokenClaims(slots, claims, this.#hasSeveralIssuers, theirs);
    slots.set(tokenScheme, scheme);
    trace?.apply({ issuer: String(claims["iss"]) });
  }

  /** Returns the metadata of the resource and the scopes that a client should request. */
  #demand(context: PolicyContext): BearerChallenge {
    const scopes = context.requiredScopes;
    return {
      resourceMetadata: this.#parts.mcp?.metadataUrl(context),
      scope: scopes.length === 0 ? undefined : scopes.join(" "),
    };
  }

  #reject(
    error: unknown,
    { scheme }: PresentedToken,
    context: PolicyContext,
  ): JwtVerdict {
    const { slots } = context;
    if (this.#mode === "Permissive" && isVerificationError(error)) {
      // Claims of a gateway-phase policy are from other providers; rules for this one must not see them.
      setTokenClaims(slots, undefined, false);
      context.trace?.skip(describeError(error));
      return undefined;
    }
    if (error instanceof TokenError) {
      if (error instanceof TokenBindingError && error.nonce !== undefined) {
        slots.set(nextNonce, error.nonce);
        slots.set(exposedHeaders, ["dpop-nonce"]);
      }
      return rejectToken(error, { ...this.#demand(context), scheme });
    }
    if (error instanceof DocumentUnavailableError) {
      slots.set(exposedHeaders, ["retry-after"]);
      return rejectTemporarily(error);
    }
    throw error;
  }
}
