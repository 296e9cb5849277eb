import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";
import type { Requests, Target } from "../measure.ts";
import { type Neighbour, startGatewayWith } from "../neighbours.ts";
import { startNginxProxy, type TlsFiles } from "../nginx.ts";
import { chat, createTlsFiles } from "../requests.ts";
import { type LeaderRoute, startLeader } from "./leader.ts";

/** A line of the comparison: requests that all proxies of a site get. */
export interface PeerRow {
  readonly name: string;
  readonly requests: Requests;
  /** Over HTTP/2, with several streams on each connection. */
  readonly isHttp2?: boolean;
}

/** A proxy of a site. */
export interface Peer {
  readonly name: "nginx" | "agentgateway" | "gateway";
  readonly target: Target;
}

/** Proxies with equivalent configurations, and the requests that they are compared by. */
export interface Site extends AsyncDisposable {
  readonly peers: readonly Peer[];
  readonly rows: readonly PeerRow[];
}

const CHAT = "/v1/chat/completions";
const SIZES = [["66 B", 66], ["1 KiB", 1024], ["16 KiB", 16384]] as const;

/** Names of rows that are compared with each other. */
export const GET_ROW = "GET, 300-byte response";
export const SMALL_POST_ROW = "POST 66 B";

/** Starts a site. */
export type StartSite = (upstreamPort: number) => Promise<Site>;

/** The sites, which are measured one after the other. */
export const sites: readonly StartSite[] = [
  plainSite,
  llmSite,
  guardedSite,
  tlsSite,
];

/** Forwards without policies. The path of the POST requests is that of an LLM API, whose tokens the gateway counts. */
function plainSite(upstreamPort: number): Promise<Site> {
  return createSite([
    { name: GET_ROW, requests: {} },
    ...SIZES.map(([size, bytes]) => ({
      name: `POST ${size}`,
      requests: { path: CHAT, body: chat(bytes) },
    })),
    { name: "GET, 64 KiB response", requests: { path: "/large" } },
  ], {
    nginx: startNginxProxy(upstreamPort),
    agentgateway: startLeader(upstreamPort),
    gateway: startGatewayWith({
      routes: [{
        name: "plain",
        backends: [{ host: `127.0.0.1:${upstreamPort}` }],
      }],
    }),
  });
}

/** Adds the key of an LLM provider, and limits tokens. */
async function llmSite(upstreamPort: number): Promise<Site> {
  const host = `127.0.0.1:${upstreamPort}`;
  const limit = 1_000_000_000;
  const key = await Deno.makeTempFile();
  await Deno.writeTextFile(key, "sk-bench");
  const leader: LeaderRoute = {
    policies: {
      localRateLimit: [{
        maxTokens: limit,
        tokensPerFill: limit,
        fillInterval: "1s",
        type: "tokens",
      }],
    },
    backends: [{
      ai: { name: "llm", provider: { openAI: {} }, hostOverride: host },
      policies: { backendAuth: { key: "sk-bench" } },
    }],
  };
  const llm = {
    provider: "OpenAICompatible",
    host,
    plainText: true,
    credentials: { file: key },
  };
  const policies = {
    rateLimit: { local: [{ tokens: limit, unit: "Seconds" }] },
  };
  return await createSite(
    SIZES.map(([size, bytes]) => ({
      name: `LLM, key added, tokens limited, POST ${size}`,
      requests: { path: CHAT, body: chat(bytes) },
    })),
    {
      nginx: startNginxProxy(upstreamPort),
      agentgateway: startLeader(upstreamPort, undefined, leader),
      gateway: startGatewayWith({
        routes: [{ name: "llm", backends: [{ llm }], policies }],
      }),
    },
  );
}

/** Verifies a token, evaluates a rule and counts requests. */
async function guardedSite(upstreamPort: number): Promise<Site> {
  const host = `127.0.0.1:${upstreamPort}`;
  const issuer = await createTokenIssuer({
    alg: "RS256",
    now: Date.now() + 3_600_000,
  });
  const jwks = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(jwks, jwksOf(issuer));
  const audiences = ["bench"];
  const trusted = { issuer: issuer.issuer, audiences, jwks: { file: jwks } };
  const token = await issuer.sign({ aud: "bench", roles: ["reader"] });
  const rule = '"reader" in jwt.roles';
  const limit = 1_000_000_000;
  const headers = { authorization: `Bearer ${token}` };
  return await createSite([
    { name: "GET, RS256 token, rule, limit", requests: { headers } },
  ], {
    nginx: startNginxProxy(upstreamPort),
    agentgateway: startLeader(upstreamPort, undefined, {
      policies: {
        jwtAuth: { mode: "strict", ...trusted },
        authorization: { rules: [rule] },
        localRateLimit: [{
          maxTokens: limit,
          tokensPerFill: limit,
          fillInterval: "60s",
        }],
      },
      backends: [{ host }],
    }),
    gateway: startGatewayWith({
      routes: [{
        name: "guarded",
        backends: [{ host }],
        policies: {
          jwtAuthentication: { providers: [trusted] },
          authorization: { policy: { matchExpressions: [rule] } },
          rateLimit: { local: [{ requests: limit, unit: "Minutes" }] },
        },
      }],
    }),
  });
}

/** Terminates TLS. */
async function tlsSite(upstreamPort: number): Promise<Site> {
  const tls = await createTlsFiles();
  const rows = [
    { name: "HTTPS, HTTP/1.1", requests: {} },
    { name: "HTTPS, HTTP/1.1, POST 1 KiB", requests: { body: chat(1024) } },
    { name: "HTTPS, HTTP/2", requests: {}, isHttp2: true },
  ];
  const routes = [{
    name: "tls",
    backends: [{ host: `127.0.0.1:${upstreamPort}` }],
  }];
  return await createSite(rows, {
    nginx: startNginxProxy(upstreamPort, tls),
    agentgateway: startLeader(upstreamPort, tls),
    gateway: startGatewayWith({ routes }, {}, { protocol: "HTTPS", tls }),
  }, tls);
}

async function createSite(
  rows: readonly PeerRow[],
  starting: Readonly<Record<Peer["name"], Promise<Neighbour | undefined>>>,
  tls?: TlsFiles,
): Promise<Site> {
  const processes = new AsyncDisposableStack();
  const peers: Peer[] = [];
  for (const name of ["nginx", "agentgateway", "gateway"] as const) {
    const process = await starting[name];
    if (process === undefined) continue;
    processes.use(process);
    const scheme = tls === undefined ? "http" : "https";
    peers.push({ name, target: { ...process, scheme } });
  }
  return {
    rows,
    peers,
    [Symbol.asyncDispose]: () => processes.disposeAsync(),
  };
}
