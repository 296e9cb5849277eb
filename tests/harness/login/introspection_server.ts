import { CompactSign, exportJWK, generateKeyPair } from "jose";
import { serveLoopback } from "../../../cli/dev/loopback_server.ts";

/** A question that the server was asked. */
export interface Introspected {
  readonly token: string;
  readonly form: Readonly<Record<string, string>>;
  readonly authorization: string | null;
}

/** An authorization server that says which opaque tokens are active (RFC 7662). */
export interface IntrospectionServer extends AsyncDisposable {
  readonly issuer: string;
  /** Claims of the active tokens. */
  readonly tokens: Map<string, Readonly<Record<string, unknown>>>;
  readonly requests: readonly Introspected[];
  /** Members of its metadata in place of the usual ones. */
  metadata: Readonly<Record<string, unknown>>;
  /** Responds in place of the server; set to `undefined` to end that. */
  fault: (() => Response | Promise<Response>) | undefined;
  /** Claims and header of signed responses in place of the usual ones. */
  readonly signed: {
    claims: Readonly<Record<string, unknown>>;
    typ: string;
    isForged: boolean;
  };
}

/** Claims of a token for `https://gw.example/mcp` that ends in an hour. */
export function activeClaims(
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    sub: "ann",
    aud: "https://gw.example/mcp",
    scope: "read",
    exp: Math.floor(Date.now() / 1000) + 3600,
    ...more,
  };
}

/** Starts such a server; it responds with a signed response to those who accept one. */
export async function startIntrospectionServer(): Promise<IntrospectionServer> {
  const [key, foreignKey] = [
    await generateKeyPair("ES256"),
    await generateKeyPair("ES256"),
  ];
  const jwk = { ...await exportJWK(key.publicKey), kid: "i1", alg: "ES256" };
  const requests: Introspected[] = [];
  const tokens = new Map<string, Readonly<Record<string, unknown>>>();
  const state: Pick<IntrospectionServer, "metadata" | "fault" | "signed"> = {
    metadata: {},
    fault: undefined,
    signed: { claims: {}, typ: "token-introspection+jwt", isForged: false },
  };
  const sign = (introspection: unknown) => {
    const { claims, typ, isForged } = state.signed;
    const payload = {
      iss: server.origin,
      aud: "gateway",
      iat: Math.floor(Date.now() / 1000),
      token_introspection: introspection,
      ...claims,
    };
    return new CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
      .setProtectedHeader({ alg: "ES256", kid: "i1", typ })
      .sign(isForged ? foreignKey.privateKey : key.privateKey);
  };
  const answer = async (request: Request): Promise<Response> => {
    const form = Object.fromEntries(new URLSearchParams(await request.text()));
    const { token = "" } = form;
    const authorization = request.headers.get("authorization");
    requests.push({ token, form, authorization });
    if (state.fault !== undefined) return await state.fault();
    const claims = tokens.get(token);
    const body = claims === undefined
      ? { active: false }
      : { active: true, ...claims };
    const accept = request.headers.get("accept") ?? "";
    if (!accept.includes("introspection+jwt")) return Response.json(body);
    return new Response(await sign(body), {
      headers: { "content-type": "application/token-introspection+jwt" },
    });
  };
  const server = serveLoopback(0, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/introspect") return await answer(request);
    await request.body?.cancel();
    if (pathname === "/jwks") return Response.json({ keys: [jwk] });
    if (!pathname.includes("/.well-known/")) {
      return new Response("Not found", { status: 404 });
    }
    return Response.json({
      issuer: server.origin,
      authorization_endpoint: `${server.origin}/authorize`,
      token_endpoint: `${server.origin}/token`,
      introspection_endpoint: `${server.origin}/introspect`,
      jwks_uri: `${server.origin}/jwks`,
      ...state.metadata,
    });
  });
  return Object.assign(state, {
    issuer: server.origin,
    tokens,
    requests,
    [Symbol.asyncDispose]: () => server.close(),
  });
}
