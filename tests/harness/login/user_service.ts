import { randomBytes } from "node:crypto";
import { decodeJwt } from "jose";
import { type Idp, startIdp } from "../../../cli/dev/idp/idp.ts";
import { ProofVerifier } from "./proof_verifier.ts";

/** A service with an authorization server of its own, at which users log in. */
export interface UserService extends AsyncDisposable {
  readonly idp: Idp;
  /** URL of the service, and the `resource` of its tokens. */
  readonly resource: string;
  readonly port: number;
  /** Requests for tokens so far, with their parameters. */
  readonly tokenRequests: readonly Readonly<Record<string, unknown>>[];
  /** Tokens that the service does not accept. */
  readonly rejected: Set<string>;
  /** Response to all requests for tokens, in place of tokens. */
  fault: { readonly status: number; readonly body: unknown } | undefined;
  /** Called before a request for a token is answered. */
  beforeToken: () => Promise<void>;
  /** Lifetime of access tokens, in seconds. */
  lifetime: number;
  /** Issues refresh tokens; true by default. */
  refreshes: boolean;
  /** Checks the proofs of requests to the service. */
  readonly proofs: ProofVerifier;
  /** Requests at the authorization server: `POST /token`. */
  readonly requests: readonly string[];
  /** Returns other metadata (RFC 9728) of the service. */
  describe: ((service: UserService) => unknown) | undefined;
  /** Handles requests whose token the service has verified. */
  handle(
    request: Request,
    subject: string,
    scope: string,
  ): Response | Promise<Response>;
}

/** Options; every field has a default. */
export interface UserServiceOptions {
  readonly clients?: readonly Readonly<Record<string, unknown>>[];
  readonly registration?: boolean;
  readonly sendsIssuer?: boolean;
  /** Fetches documents that describe clients, which are rejected by default. */
  readonly fetchClient?: (url: string) => Promise<Response>;
  /** Tokens have to be bound to a key, and proofs need a nonce, at both servers. */
  readonly wantsProofs?: boolean;
}

const SCOPES = "tools:read tools:write";

/** Starts `oidc-provider` with rotating refresh tokens, registration and revocation, and a service that accepts its tokens. */
export async function startUserService(
  {
    clients = [],
    registration = true,
    sendsIssuer = true,
    fetchClient,
    wantsProofs = false,
  }: UserServiceOptions = {},
): Promise<UserService> {
  const tokenRequests: Readonly<Record<string, unknown>>[] = [];
  const requests: string[] = [];
  const state = {
    fault: undefined as UserService["fault"],
    beforeToken: () => Promise.resolve(),
    lifetime: 3600,
    refreshes: true,
    describe: undefined as UserService["describe"],
    rejected: new Set<string>(),
    handle: (
      _: Request,
      subject: string,
      scope: string,
    ): Response | Promise<Response> => Response.json({ subject, scope }),
  };
  const idp = await startIdp({
    mountPath: "",
    issuerPath: "",
    jwksPath: "/jwks",
    tokenPath: "/token",
    audienceParameter: "resource",
    locate: (target) => target,
    sendsIssuer,
    userClaims: {},
    guestClaims: {},
    machineClaims: {},
    configuration: {
      routes: {
        authorization: "/authorize",
        jwks: "/jwks",
        registration: "/register",
        revocation: "/revoke",
        token: "/token",
      },
      features: {
        registration: { enabled: registration },
        ...(wantsProofs && {
          dPoP: {
            enabled: true,
            nonceSecret: randomBytes(32),
            requireNonce: () => true,
          },
        }),
        revocation: { enabled: true, allowedPolicy: () => true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_context, audience) => ({
            audience,
            scope: SCOPES,
            accessTokenFormat: "jwt",
          }),
          useGrantedResource: () => true,
        },
      },
    },
  }, {
    clients,
    ...(fetchClient && { fetchClient }),
    onRequest: (line) => requests.push(line),
    prepare(provider) {
      provider.use(async (context, next) => {
        if (context.path !== "/token") return await next();
        await state.beforeToken();
        if (state.fault === undefined) await next();
        else {
          context.status = state.fault.status;
          context.body = state.fault.body;
        }
        tokenRequests.push({ ...(state.fault ?? context.oidc?.params) });
        const { body } = context;
        if (typeof body === "object" && body !== null && "expires_in" in body) {
          context.body = {
            ...body,
            expires_in: state.lifetime,
            ...(!state.refreshes && { refresh_token: undefined }),
          };
        }
      });
    },
  });
  // The gateway forwards the host of its client.
  const own = { resource: "http://127.0.0.1/" };
  const proofs = new ProofVerifier(idp);
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      const { origin } = new URL(own.resource);
      if (pathname === "/.well-known/oauth-protected-resource/api") {
        return Response.json(
          service.describe?.(service) ?? {
            resource: `${origin}/api`,
            authorization_servers: [idp.issuer],
            scopes_supported: ["tools:read"],
          },
        );
      }
      const metadata = `${origin}/.well-known/oauth-protected-resource/api`;
      const challenge = (more: string) => ({
        "www-authenticate": `${
          wantsProofs ? "DPoP" : "Bearer"
        } resource_metadata="${metadata}"${more}`,
      });
      const token = request.headers.get("authorization")?.split(" ")[1] ?? "";
      const claims = token.includes(".") ? decodeJwt(token) : {};
      const { sub = "", aud, iss } = claims;
      if (
        state.rejected.has(token) || aud !== `${origin}/api` ||
        iss !== idp.issuer
      ) {
        return new Response(`who? ${token}`, {
          status: 401,
          headers: challenge(""),
        });
      }
      const unproven = wantsProofs
        ? await proofs.rejectionOf(request, own.resource)
        : undefined;
      if (unproven !== undefined) return unproven;
      const scope = String(claims["scope"] ?? "");
      if (pathname === "/api/write" && !scope.includes("tools:write")) {
        return new Response(`no ${token}`, {
          status: 403,
          headers: challenge(
            ', error="insufficient_scope", scope="tools:write"',
          ),
        });
      }
      return await state.handle(request, sub, scope);
    },
  );
  own.resource = `http://127.0.0.1:${server.addr.port}/api`;
  const service: UserService = Object.assign(state, {
    proofs,
    idp,
    resource: own.resource,
    port: server.addr.port,
    tokenRequests,
    requests,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await idp[Symbol.asyncDispose]();
    },
  });
  return service;
}
