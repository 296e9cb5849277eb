import assert from "node:assert/strict";
import { builtInPolicies } from "../../../src/policy/registry.ts";
import type { TraceEvent } from "../../../src/telemetry/trace/trace_event.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { fetchRaw, type RawRequest } from "../../harness/clients/fetch_raw.ts";
import { freePort } from "../../harness/process/free_port.ts";
import {
  RawUpstream,
  type Script,
} from "../../harness/clients/raw_upstream.ts";
import {
  createTokenIssuer,
  jwksOf,
  type TokenIssuer,
} from "../../harness/login/tokens.ts";
import {
  eventsOf,
  startTracedGateway,
  type TracedGateway,
} from "../../harness/gateway/traced_gateway.ts";

const fixtures = new URL("../../fixtures/trace/", import.meta.url);

interface Scenario {
  /** Behavior of the upstream. */
  readonly script?: Script;
  readonly config?: Readonly<Record<string, unknown>>;
  /** Fields of the route besides its backend. */
  readonly route?: Readonly<Record<string, unknown>>;
  readonly request?: RawRequest;
  /** Path. */
  readonly target?: string;
  /** Requests that come before. */
  readonly warmUp?: number;
  /** Time that passes once the upstream has the request. */
  readonly patience?: number;
}

/** Answers every request with this. */
function answering(...pieces: readonly (string | Uint8Array)[]): Script {
  return async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(...pieces);
    }
  };
}

const ok = answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");

/** Fails once, then answers. */
function failingOnce(): Script {
  let requests = 0;
  return async (connection) => {
    for (;;) {
      await connection.request();
      const status = requests++ === 0 ? "503 Unavailable" : "200 OK";
      await connection.send(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`);
    }
  };
}

function jwtPolicy(issuer: TokenIssuer, more = {}) {
  return {
    jwtAuthentication: {
      providers: [{
        issuer: issuer.issuer,
        audiences: ["https://gw.example/mcp"],
        jwks: { inline: jwksOf(issuer) },
      }],
      ...more,
    },
  };
}

const completion = JSON.stringify({
  model: "gpt-5-2026",
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
});

const issuer = await createTokenIssuer({ now: Date.UTC(2026, 0, 1) });

const scenarios: Readonly<Record<string, Scenario>> = {
  plain_200: { script: ok },
  post_with_body: {
    script: ok,
    request: {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"a":1}',
    },
  },
  mcp_401: {
    script: ok,
    route: { policies: jwtPolicy(issuer, { mcp: { provider: "IdpA" } }) },
    target: "/mcp",
  },
  authorization_403: {
    script: ok,
    route: {
      policies: {
        ...jwtPolicy(issuer),
        authorization: {
          policy: {
            matchExpressions: ["'read' in jwt.permissions", "has(jwt.sub)"],
          },
        },
      },
    },
    request: {
      headers: {
        authorization: `Bearer ${await issuer.sign({
          permissions: ["write"],
        })}`,
      },
    },
  },
  rate_limit_429: {
    script: ok,
    route: {
      policies: {
        rateLimit: {
          local: [
            { requests: 1, unit: "Minutes" },
            {
              requests: 9,
              unit: "Hours",
              when: "request.path == '/other'",
            },
          ],
        },
      },
    },
    warmUp: 1,
  },
  global_limit_429: {
    script: ok,
    config: { kv: { path: ":memory:" } },
    route: {
      policies: {
        rateLimit: {
          global: {
            domain: "fleet",
            store: "KV",
            descriptors: [{
              requests: 1,
              unit: "Minutes",
              entries: [{ key: "host", value: "request.host" }],
            }],
          },
        },
      },
    },
    warmUp: 1,
  },
  llm: {
    script: answering(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${completion.length}\r\n\r\n${completion}`,
    ),
    target: "/v1/chat/completions",
    request: {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"model":"gpt-5","messages":[]}',
    },
  },
  no_route: {
    script: ok,
    route: { matches: [{ path: { type: "PathPrefix", value: "/other" } }] },
  },
  upstream_refused: {},
  upstream_timeout: {
    script: async (connection) => {
      await connection.request();
      await connection.closedByPeer();
    },
    route: { policies: { timeouts: { backendRequest: "2s" } } },
    patience: 2000,
  },
  events: {
    script: answering(
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
      "b\r\ndata: one\n\n\r\n",
      "b\r\ndata: two\n\n\r\n0\r\n\r\n",
    ),
  },
  retry: {
    script: failingOnce(),
    route: {
      policies: { retry: { attempts: 2, codes: [503], backoff: "7ms" } },
    },
  },
  mirror: {
    script: ok,
    route: {
      filters: [{
        type: "RequestMirror",
        requestMirror: { backendRef: { name: "shadow", port: 9 } },
      }],
    },
  },
  header_modifiers: {
    script: ok,
    route: {
      policies: {
        cors: { allowOrigins: ["https://app.example"] },
        requestHeaderModifier: {
          set: [{ name: "x-team", value: "blue" }],
        },
        responseHeaderModifier: {
          set: [{ name: "x-served-by", value: "gateway" }],
        },
      },
    },
    request: { headers: { origin: "https://app.example" } },
  },
  direct_response: {
    route: { policies: { directResponse: { status: 418, body: "teapot" } } },
  },
  transformation: {
    script: ok,
    route: {
      policies: {
        transformation: {
          request: {
            set: [
              { name: "x-method", value: "request.method" },
              {
                name: "x-copy",
                value: "request.headers['authorization']",
              },
            ],
          },
          response: {
            set: [{ name: "x-code", value: "string(response.code)" }],
          },
        },
      },
    },
    request: { headers: { authorization: "Bearer planted-secret" } },
  },
};

/** Waits between tries are over as soon as they begin. */
class HurriedClock extends FakeClock {
  override setTimer(callback: () => void, delayMs: number): () => void {
    const cancel = super.setTimer(callback, delayMs);
    if (delayMs === 7) queueMicrotask(() => this.advance(delayMs));
    return cancel;
  }
}

for (const [name, scenario] of Object.entries(scenarios)) {
  Deno.test(`the trace of ${name} is as it was`, async () => {
    assertGolden(`${name}.jsonl`, await traceOf(scenario));
  });
}

Deno.test("a policy selection has each kind of its phase, null where there is none", async () => {
  const { events } = await run({ script: ok });
  const selections = events.flatMap(({ message }) =>
    message.type === "policySelection" ? [message] : []
  );

  assert.equal(selections.length, 3);
  for (const { phase, effectivePolicy } of selections) {
    const names = builtInPolicies.running(phase)
      .flatMap(({ selection }) => Object.keys(selection));
    assert.deepEqual(
      names.filter((name) => effectivePolicy[name] !== null),
      [],
    );
  }
});

async function traceOf(scenario: Scenario): Promise<string> {
  const { events, ports } = await run(scenario);
  return normalize(events.map(withoutNulls), ports);
}

/** Leaves out policies that are not configured, so that a new kind of policy changes no golden file of others. */
function withoutNulls(event: TraceEvent): TraceEvent {
  const { message } = event;
  if (message.type !== "policySelection") return event;
  const configured = Object.entries(message.effectivePolicy)
    .filter(([, value]) => value !== null);
  const effectivePolicy = Object.fromEntries(configured);
  return { ...event, message: { ...message, effectivePolicy } };
}

interface Run {
  readonly events: readonly TraceEvent[];
  readonly ports: Readonly<Record<string, number>>;
}

async function run(scenario: Scenario): Promise<Run> {
  const { script, warmUp = 0, target = "/v1", request = {} } = scenario;
  const clock = new HurriedClock();
  const arrived = Promise.withResolvers<void>();
  await using upstream = script === undefined
    ? undefined
    : new RawUpstream(async (connection, index) => {
      arrived.resolve();
      await script(connection, index);
    });
  const port = upstream?.port ?? freePort();
  await using gateway = await start(scenario, port, clock);
  for (let i = 0; i < warmUp; i++) await fetchRaw(gateway.origin + target);
  const stream = await gateway.watch();
  const headers = { "x-request-id": "golden", ...request.headers };
  const answer = fetchRaw(gateway.origin + target, { ...request, headers });
  if (scenario.patience !== undefined) {
    await arrived.promise;
    clock.advance(scenario.patience);
  }
  await answer;
  const events = await eventsOf(stream);
  return { events, ports: { listener: gateway.port, upstream: port } };
}

function start(
  { route, config = {} }: Scenario,
  upstreamPort: number,
  clock: FakeClock,
): Promise<TracedGateway> {
  const backends = [{ host: `127.0.0.1:${upstreamPort}` }];
  return startTracedGateway({
    config: { adminAddr: "off", ...config },
    backends: [{ name: "shadow", static: { host: "127.0.0.1", port: 9 } }],
    routes: [{ name: "golden", backends, ...route }],
  }, { clock });
}

/** One line for each event, with what differs from run to run replaced. */
function normalize(
  events: readonly TraceEvent[],
  ports: Readonly<Record<string, number>>,
): string {
  const source =
    events.flatMap(({ message }) =>
      message.type === "requestSnapshot"
        ? [message.requestState.source.port]
        : []
    )[0] ?? 0;
  const names = { ...ports, client: source };
  let text = events.map((event) => JSON.stringify(event) + "\n").join("");
  for (const [name, port] of Object.entries(names)) {
    text = text.replaceAll(`:${port}`, `:<${name}>`);
  }
  return text.replace(/:<client>,/g, ':"<client>",')
    .replace(/:<client>}/g, ':"<client>"}')
    .replace(/(\\"[xy]\\":\\")[\w-]{20,}/g, "$1<key>");
}

/** Compares with a golden file; `GOLDEN=update` writes it instead. */
function assertGolden(name: string, actual: string): void {
  const file = new URL(name, fixtures);
  if (Deno.env.get("GOLDEN") === "update") Deno.writeTextFileSync(file, actual);
  assert.equal(actual, Deno.readTextFileSync(file));
}
