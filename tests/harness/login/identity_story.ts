import { FakeClock } from "../time/fake_clock.ts";
import {
  callMcp,
  type GuardedAnswer,
  guardedRoute,
  type GuardedServer,
  startGuardedServer,
} from "../servers/guarded_server.ts";
import { type Condition, IdentityServer } from "./identity_server.ts";
import {
  type Documents,
  startReloadableGateway,
} from "../gateway/reloadable_gateway.ts";
import type { TokenIssuer } from "./tokens.ts";

/** The `iss` of tokens in a story. */
export const issuer = "https://idp.example/";

/** Starts a guarded server, the provider whose tokens open it, and a gateway with a clock that stands still. */
export async function startStory(first: TokenIssuer, condition?: Condition) {
  await using opening = new AsyncDisposableStack();
  const clock = new FakeClock();
  const server = opening.use(startGuardedServer());
  const idp = opening.use(
    await IdentityServer.start(condition && { condition }),
  );
  idp.keys = [first];
  const gateway = opening.use(
    await startReloadableGateway([routeTo(server, idp)], { clock }),
  );
  const open = opening.move();
  /** Signs a token that expires in five minutes. */
  const sign = (
    { sign }: TokenIssuer = first,
    claims: Readonly<Record<string, unknown>> = {},
  ) => sign({ exp: Math.floor(clock.now() / 1000) + 300, ...claims });
  /** Signs a token that says when it was issued: now. */
  const signNow = (by: TokenIssuer = first) =>
    sign(by, { iat: Math.floor(clock.now() / 1000) });
  return {
    clock,
    server,
    idp,
    gateway,
    sign,
    signNow,
    answer: (token: string): Promise<GuardedAnswer> => callMcp(gateway, token),
    call: async (by = first) => (await callMcp(gateway, await sign(by))).status,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Returns the configuration of a guarded route with the keys of a provider. */
export function routeTo(
  server: Pick<GuardedServer, "host">,
  idp: IdentityServer,
  { path = "/jwks.json", issuer: iss = issuer } = {},
): Documents[0] {
  return guardedRoute(server, {
    issuer: iss,
    jwks: { url: idp.origin + path },
    mcp: { provider: "IdpA" },
  });
}
