import { serveLoopback } from "../../../cli/dev/loopback_server.ts";
import type { KeyPair } from "./certificates.ts";
import { freePort } from "../process/free_port.ts";
import { jwksOf, type TokenIssuer } from "./tokens.ts";

/** The condition of an identity provider; `down` does not listen. */
export type Condition = "up" | "down" | "failing" | "garbled" | "empty";

/** Options of an identity server. */
export interface IdentityServerOptions {
  /** Serves HTTPS. */
  readonly tls?: KeyPair;
  /** The initial condition; `up` by default. */
  readonly condition?: Condition;
}

/** Serves the documents of an identity provider on 127.0.0.1, in any condition. */
export class IdentityServer implements AsyncDisposable {
  /** The issuer whose keys it publishes at every path that ends with `/jwks.json`. */
  keys: readonly TokenIssuer[] = [];
  /** Additional members of its metadata. */
  metadata: Readonly<Record<string, unknown>> = {};
  /** The requests with their authority, such as `GET /jwks.json idp.example`. */
  readonly requests: string[] = [];
  readonly port = freePort();
  readonly origin: string;
  readonly #tls: KeyPair | undefined;
  #condition: Condition = "down";
  #close: (() => Promise<void>) | undefined;
  #arrival: PromiseWithResolvers<void> | undefined;

  private constructor(tls: KeyPair | undefined) {
    this.#tls = tls;
    this.origin = `${tls ? "https" : "http"}://127.0.0.1:${this.port}`;
  }

  static async start(
    { tls, condition = "up" }: IdentityServerOptions = {},
  ): Promise<IdentityServer> {
    const server = new IdentityServer(tls);
    await server.become(condition);
    return server;
  }

  async become(condition: Condition): Promise<void> {
    this.#condition = condition;
    if (condition === "down") {
      await this.#close?.();
      this.#close = undefined;
    } else {
      this.#close ??= this.#listen();
    }
  }

  /** The number of requests for the keys. */
  get keyRequests(): number {
    return this.requests.filter((line) => /\/jwks\.json /.test(line)).length;
  }

  /** Resolves once so many requests for the keys have arrived. */
  async requested(keyRequests: number): Promise<void> {
    while (this.keyRequests < keyRequests) {
      this.#arrival ??= Promise.withResolvers<void>();
      await this.#arrival.promise;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.become("down");
  }

  #listen(): () => Promise<void> {
    const answer = (request: Request) => this.#answer(request);
    if (this.#tls === undefined) return serveLoopback(this.port, answer).close;
    const server = Deno.serve({
      hostname: "127.0.0.1",
      port: this.port,
      onListen: () => {},
      ...this.#tls,
    }, answer);
    return () => server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, host } = new URL(request.url);
    this.requests.push(`${request.method} ${pathname} ${host}`);
    this.#arrival?.resolve();
    this.#arrival = undefined;
    await request.body?.cancel();
    switch (this.#condition) {
      case "failing":
        return new Response("Internal error", { status: 500 });
      case "garbled":
        return new Response("<html>Down for maintenance</html>");
      case "empty":
        return Response.json({ keys: [] });
      default:
        return pathname.endsWith("/jwks.json")
          ? new Response(jwksOf(...this.keys))
          : this.#describe(pathname);
    }
  }

  #describe(pathname: string): Response {
    if (pathname.endsWith("/register")) {
      return Response.json({ error: "unauthorized" }, { status: 401 });
    }
    if (!pathname.includes("/.well-known/")) {
      return new Response("Not found", { status: 404 });
    }
    const { origin } = this;
    return Response.json({
      issuer: `${origin}/`,
      authorization_endpoint: `${origin}/authorize?a=b`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/oidc/register`,
      jwks_uri: `${origin}/jwks.json`,
      authorization_response_iss_parameter_supported: true,
      ...this.metadata,
    });
  }
}
