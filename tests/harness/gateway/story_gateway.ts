import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { GatewayProcess } from "./gateway_process.ts";
import { createTokenIssuer, jwksOf } from "../login/tokens.ts";

/** A gateway as a process, with the playground's MCP server behind a login, a rule and a limit. */
export interface StoryGateway extends AsyncDisposable {
  readonly gateway: GatewayProcess;
  /** Address of the admin interface, such as `127.0.0.1:40123`. */
  readonly admin: string;
  /** The permission that the rule requires. */
  readonly allowedToken: string;
  readonly deniedToken: string;
}

/** Starts it: `/mcp` requires the permission `call:mcp`, `/limited` admits one request per hour. */
export async function startStoryGateway(): Promise<StoryGateway> {
  const issuer = await createTokenIssuer({
    issuer: "https://login.example.com/",
  });
  const mcp = startMcpServer({
    port: 0,
    allowedHosts: ["api.example.com"],
    clock: systemClock,
  });
  const host = new URL(mcp.origin).host;
  const audience = "https://api.example.com/mcp";
  const gateway = await GatewayProcess.start({
    config: {
      routes: [{
        name: "mcp",
        matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
        backends: [{ host }],
        policies: {
          jwtAuthentication: {
            providers: [{
              issuer: issuer.issuer,
              audiences: [audience],
              jwks: { inline: jwksOf(issuer) },
            }],
          },
          authorization: {
            policy: { matchExpressions: ["'call:mcp' in jwt.permissions"] },
          },
        },
      }, {
        name: "limited",
        matches: [{ path: { type: "PathPrefix", value: "/limited" } }],
        backends: [{ host }],
        policies: { rateLimit: { local: [{ requests: 1, unit: "Hours" }] } },
      }],
    },
  });
  const sign = (permissions: readonly string[]) =>
    issuer.sign({ aud: audience, sub: "anna", permissions });
  return {
    gateway,
    admin: new URL(gateway.admin).host,
    allowedToken: await sign(["read:mcp", "call:mcp"]),
    deniedToken: await sign(["read:mcp"]),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await mcp.close();
    },
  };
}
