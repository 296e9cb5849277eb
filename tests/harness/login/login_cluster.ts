import {
  type LoopbackServer,
  serveLoopback,
} from "../../../cli/dev/loopback_server.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import type { Idp } from "../../../cli/dev/idp/idp.ts";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { freePort } from "../process/free_port.ts";
import { startTestGateway, type TestGateway } from "../gateway/gateway.ts";
import { protectedConfig } from "../gateway/protected_gateway.ts";
import { type LoginSteps, loginSteps } from "../gateway/proxied_gateway.ts";

/** State that the gateways of a cluster share: nothing, a secret, or a file of Deno KV. */
export type SharedState = "nothing" | "stateSecret" | "config.kv";

/** Gateways in issuer mode `Proxied` behind one name; each request goes to the next of them. */
export interface LoginCluster extends LoginSteps, AsyncDisposable {
  /** URL of the MCP server for clients. */
  readonly url: string;
  readonly idp: Idp;
  /** The access logs of all gateways so far. */
  readonly accessLog: readonly string[];
  /** Stops the gateways and starts them again. */
  restart(): Promise<void>;
  /** Stops one gateway; requests go to the others. */
  stopFirst(): Promise<void>;
  /** Stops the provider and starts another one at its address, without the codes, sessions and keys of the first. */
  replaceProvider(): Promise<void>;
}

/** Starts provider, MCP server, gateways, and the load balancer in front of them. */
export async function startLoginCluster(
  { gateways: count, shared }: {
    readonly gateways: number;
    readonly shared: SharedState;
  },
): Promise<LoginCluster> {
  await using opening = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir();
  opening.defer(() => Deno.remove(folder, { recursive: true }));
  const url = `http://127.0.0.1:${freePort()}/mcp`;
  const steps = loginSteps(url);
  const startProvider = (port: number) =>
    startIdpA({
      port,
      registration: false,
      redirectUris: [`${steps.base}/callback`],
    });
  let idp = await startProvider(freePort());
  opening.defer(() => idp[Symbol.asyncDispose]());
  const server = opening.adopt(startMcpServer(), (server) => server.close());
  const config = protectedConfig(idp, {
    provider: "IdpA",
    url,
    upstream: server.origin,
    mcp: {
      issuerMode: "Proxied",
      clientId: idp.clientId,
      scopes: ["offline_access", "openid"],
      resourceMetadata: { resource: url },
      ...(shared === "stateSecret" &&
        { stateSecret: "the same secret of every replica, long" }),
    },
    config: shared === "config.kv"
      ? { kv: { path: `${folder}/kv.sqlite` } }
      : {},
  });
  const ports = Array.from({ length: count }, freePort);
  const ended: string[] = [];
  let running: readonly TestGateway[] = [];
  async function stop() {
    for (const { gateway, accessLog } of running) {
      await gateway.stop(0);
      ended.push(...accessLog);
    }
    running = [];
  }
  async function start() {
    running = await Promise.all(
      ports.map((port) => startTestGateway(config, { port })),
    );
  }
  opening.defer(stop);
  await start();
  opening.adopt(
    balance(Number(new URL(url).port), () => running),
    (balancer) => balancer.close(),
  );
  const open = opening.move();
  return {
    ...steps,
    url,
    get idp() {
      return idp;
    },
    get accessLog() {
      return [...ended, ...running.flatMap(({ accessLog }) => accessLog)];
    },
    async restart() {
      await stop();
      await start();
    },
    async stopFirst() {
      const [first, ...others] = running;
      running = others;
      await first?.gateway.stop(0);
      ended.push(...first?.accessLog ?? []);
    },
    async replaceProvider() {
      await idp[Symbol.asyncDispose]();
      idp = await startProvider(Number(new URL(idp.origin).port));
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Starts a load balancer that takes one gateway after the other. */
function balance(
  port: number,
  gateways: () => readonly TestGateway[],
): LoopbackServer {
  let next = 0;
  return serveLoopback(port, async (request) => {
    const all = gateways();
    const { pathname, search } = new URL(request.url);
    const { origin = "" } = all[next++ % all.length] ?? {};
    const headers = new Headers(request.headers);
    for (const name of ["host", "content-length"]) headers.delete(name);
    return await fetch(origin + pathname + search, {
      method: request.method,
      headers,
      redirect: "manual",
      ...(request.body && { body: await request.bytes() }),
    });
  });
}
