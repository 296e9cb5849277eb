import { servicesIn } from "../contract/policy_services.ts";
import { loginServices } from "./login_services.ts";
import { parseDuration } from "../../api/schema/duration.ts";
import type { JwtAuthentication } from "./jwt_schema.ts";
import { unlessCancelled } from "../../base/cancellation.ts";
import { describeError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { exposedHeaders } from "../http/cors.ts";
import {
  DocumentCoolDownError,
  DocumentUnavailableError,
} from "../../identity/documents/remote_document.ts";
import { TokenError } from "../../identity/tokens/token.ts";
import type { TokenVerifier } from "../../identity/tokens/token_verifier.ts";
import { isVerificationError } from "../../identity/tokens/verification_error.ts";
import {
  type BearerChallenge,
  bearerChallenge,
  rejectWith,
} from "../authentication/auth_responses.ts";
import {
  type CredentialPlace,
  credentialPlace,
} from "../authentication/credential.ts";
import {
  protectedResource,
  setTokenClaims,
} from "../authentication/request_identity.ts";
import { isAuthenticated } from "../contract/alternatives.ts";
import { IntrospectionUnavailableError } from "../../identity/tokens/token_introspector.ts";
import { createIntrospector } from "./introspection_settings.ts";
import { jwksServer, keySource } from "./jwt_keys.ts";
import { issuersOf, loginProviderIndex } from "./login_provider.ts";
import { McpOAuth } from "./mcp_oauth.ts";
import type {
  Policy,
  PolicyContext,
  ReadableBy,
  RequestVerdict,
} from "../contract/policy.ts";
import type { PolicyOptions } from "../contract/policy_kind.ts";
import type { LoginSecrets } from "./mcp_login.ts";
import { linesOf, readSecretRef } from "./jwt_checks.ts";
import { Rejection } from "../contract/rejection.ts";

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
  const mcp = createMcpOAuth(config, options);
  return new JwtAuthenticationPolicy(config, verifier, mcp);
}

type JwtRejection = "jwt_auth" | "mcp_oauth";
type JwtVerdict = RequestVerdict<JwtRejection>;

class JwtAuthenticationPolicy implements Policy<JwtRejection> {
  readonly #mode: JwtAuthentication["mode"];
  readonly #verifier: TokenVerifier;
  readonly #mcp: McpOAuth | undefined;
  readonly #place: CredentialPlace;
  /** True if the gateway removes the token before the request goes upstream. */
  readonly #removesToken: boolean;
  readonly #hasSeveralIssuers: boolean;

  constructor(
    { mode, location, mcp: config, providers }: JwtAuthentication,
    verifier: TokenVerifier,
    mcp: McpOAuth | undefined,
  ) {
    this.#mode = mode;
    this.#verifier = verifier;
    this.#mcp = mcp;
    this.#place = credentialPlace(location);
    this.#removesToken = mcp !== undefined && config?.forwardToken !== true;
    this.#hasSeveralIssuers = issuersOf(providers).length > 1;
  }

  onRequest(
    context: PolicyContext,
  ): JwtVerdict | Promise<JwtVerdict> {
    const { request, slots } = context;
    const mcp = this.#mcp;
    if (mcp !== undefined) {
      const outcome = mcp.respond(context);
      if (outcome instanceof Promise) {
        return unlessCancelled(outcome, request.cancellation);
      }
      if (outcome !== undefined) return outcome;
      slots.set(protectedResource, mcp);
    }
    if (this.#mode === "AnyOf" && slots.get(isAuthenticated)) return;
    const token = this.#place.read(request);
    if (token !== undefined) return this.#verify(token, context);
    if (this.#mode === "Strict" || this.#mode === "AnyOf") {
      return demandToken(this.#demand(context));
    }
    context.trace?.skip("no token");
  }

  readableBy(context: PolicyContext): ReadableBy | undefined {
    return this.#mcp?.readableBy(context);
  }

  #verify(
    token: string,
    context: PolicyContext,
  ): JwtVerdict | Promise<JwtVerdict> {
    const { request, trace } = context;
    if (this.#removesToken) this.#place.remove(request);
    const claims = this.#verifier.verify(
      token,
      trace && ((whom, pending) => trace.waitsFor(whom, pending)),
    );
    if (!(claims instanceof Promise)) {
      return this.#accept(token, claims, context);
    }
    return unlessCancelled(claims, request.cancellation).then(
      (verified) => this.#accept(token, verified, context),
      (error) => this.#reject(error, context),
    );
  }

  #accept(
    token: string,
    claims: JsonObject,
    { slots, trace }: PolicyContext,
  ): void {
    setTokenClaims(slots, claims, this.#hasSeveralIssuers, token);
    trace?.apply({ issuer: String(claims["iss"]) });
  }

  /** Returns the metadata of the resource and the scopes that a client should request. */
  #demand(context: PolicyContext): BearerChallenge {
    const scopes = context.requiredScopes;
    return {
      resourceMetadata: this.#mcp?.metadataUrl(context),
      scope: scopes.length === 0 ? undefined : scopes.join(" "),
    };
  }

  #reject(error: unknown, context: PolicyContext): JwtVerdict {
    if (this.#mode === "Permissive" && isVerificationError(error)) {
      // Claims of a gateway-phase policy are from other providers; rules for this one must not see them.
      setTokenClaims(context.slots, undefined, false);
      context.trace?.skip(describeError(error));
      return undefined;
    }
    if (error instanceof TokenError) {
      return rejectToken(error, this.#demand(context));
    }
    if (error instanceof DocumentUnavailableError) {
      context.slots.set(exposedHeaders, ["retry-after"]);
      return rejectTemporarily(error);
    }
    throw error;
  }
}

function createMcpOAuth(
  config: JwtAuthentication,
  options: PolicyOptions,
): McpOAuth | undefined {
  const { mcp, providers } = config;
  const provider = providers[loginProviderIndex(config)];
  if (mcp === undefined || provider === undefined) return undefined;
  return new McpOAuth(mcp, {
    issuer: provider.issuer,
    otherIssuers: issuersOf(providers)
      .filter((issuer) => issuer !== provider.issuer),
    audience: provider.audiences?.[0],
    server: provider.jwks && jwksServer(provider.jwks, options),
    services: options.services,
    secrets: loginSecrets(mcp, options),
  });
}

/** Reads the secrets of issuer mode `Proxied`, whose files the check of the configuration has validated. */
function loginSecrets(
  mcp: NonNullable<JwtAuthentication["mcp"]>,
  options: PolicyOptions,
): LoginSecrets {
  const { clientSecret, clientSecretFile, stateSecret, stateSecretFile } = mcp;
  const { readFile } = options;
  const clientText = clientSecretFile === undefined
    ? readSecretRef(mcp, "clientSecretRef", options)
    : readFile(clientSecretFile);
  const stateText = stateSecretFile === undefined
    ? readSecretRef(mcp, "stateSecretRef", options)
    : readFile(stateSecretFile);
  return {
    clientSecret: clientText?.trim() ?? clientSecret,
    stateSecrets: stateText === undefined
      ? [stateSecret].filter((secret) => secret !== undefined)
      : linesOf(stateText),
  };
}

/** RFC 6750 section 3.1: without a token there is no error code. */
function demandToken(demand: BearerChallenge): Rejection<"jwt_auth"> {
  const description = "a bearer token is required";
  const response = rejectWith("unauthorized", description, {
    "www-authenticate": bearerChallenge(demand),
  });
  return new Rejection("jwt_auth", description, response);
}

/** Tells the client which check failed; only log and trace have the found and expected values. */
function rejectToken(
  tokenError: TokenError,
  demand: BearerChallenge,
): Rejection<"jwt_auth"> {
  const { message: description } = tokenError;
  const error = "invalid_token";
  const response = rejectWith(error, description, {
    "www-authenticate": bearerChallenge({ ...demand, error, description }),
  });
  return new Rejection("jwt_auth", describeError(tokenError), response);
}

/** Responds with 503: without keys, the token cannot be verified. */
function rejectTemporarily(
  error: DocumentUnavailableError,
): Rejection<"jwt_auth"> {
  const description = error instanceof IntrospectionUnavailableError
    ? "the identity provider cannot be asked about the token"
    : error instanceof DocumentCoolDownError
    ? "the key of the token is unknown, and newer keys are not available yet"
    : "the keys of the identity provider are not available";
  return new Rejection(
    "jwt_auth",
    `${description}: ${describeError(error)}`,
    rejectWith("temporarily_unavailable", description, {
      "retry-after": String(error.retryAfter),
    }),
  );
}
