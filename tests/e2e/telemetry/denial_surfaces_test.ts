import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";

const issuer = await createTokenIssuer();
const key = "planted-key-of-the-file";
const secret = "planted-door-secret";

function route(name: string, policies: object) {
  return {
    name,
    matches: [{ path: { type: "PathPrefix", value: `/${name}` } }],
    policies: { ...policies, directResponse: { status: 200 } },
  };
}

const config = {
  config: { kv: { path: ":memory:" } },
  routes: [
    route("token", {
      jwtAuthentication: {
        providers: [{
          issuer: issuer.issuer,
          audiences: ["https://gw.example/mcp"],
          jwks: { inline: jwksOf(issuer) },
        }],
      },
    }),
    route("rule", {
      apiKeyAuthentication: {
        keys: [{ key, metadata: { teams: ["red"] } }],
      },
      authorization: {
        policy: {
          matchExpressions: [
            "request.headers['x-team'] in apiKey.teams || request.headers['x-secret-door'] == 'open'",
          ],
        },
      },
    }),
    route("stored", { apiKeyAuthentication: { stored: true } }),
    route("limit", {
      rateLimit: {
        local: [{
          ...{ requests: 1, unit: "Hours" },
          key: "request.headers['x-team'] + request.headers['x-secret-door']",
        }, {
          ...{ requests: 1, unit: "Hours", key: "request.headers['x-team']" },
        }],
      },
    }),
  ],
};

interface Denial {
  readonly status: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Values that every surface shows. */
  readonly shows: readonly string[];
  /** Requests before it. */
  readonly before?: number;
}

const doors = { "x-team": "blue", "x-secret-door": secret };

async function denialsAt({ admin }: GatewayProcess): Promise<Denial[]> {
  const create = async (fields: object) => {
    const response = await fetch(`${admin}/access/keys`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(fields),
    });
    return String((await response.json()).secret);
  };
  const stored = await create({ id: "ci", allow: { routes: ["others"] } });
  const token = await issuer.sign({ aud: "https://other.example" });
  return [
    {
      ...{ status: 401, path: "/token" },
      headers: { authorization: `Bearer ${token}` },
      shows: ["https://other.example", "https://gw.example/mcp"],
    },
    {
      ...{ status: 403, path: "/rule" },
      headers: { ...doors, authorization: `Bearer ${key}` },
      shows: ['is "blue"', 'apiKey.teams is ["red"]', "<redacted>"],
    },
    {
      ...{ status: 403, path: "/stored" },
      headers: { authorization: `Bearer ${stored}` },
      shows: ["ey ci may not use route", "others"],
    },
    {
      ...{ status: 404, path: "/nowhere" },
      headers: {},
      shows: ["/nowhere", "default/rule/0"],
    },
    {
      ...{ status: 429, path: "/limit", before: 1 },
      headers: doors,
      shows: ["1 request per hour", "request.headers['x-team']"],
    },
  ];
}

const surfaces: readonly {
  readonly name: string;
  readonly read: (gateway: GatewayProcess, denial: Denial) => Promise<string>;
}[] = [
  {
    name: "explain",
    async read(gateway, denial) {
      const id = await send(gateway, denial);
      const { stdout } = await gatewayCommand({
        args: ["ctl", "explain", id, "--admin", new URL(gateway.admin).host],
      }).output();
      return new TextDecoder().decode(stdout);
    },
  },
  {
    name: "the list of failures",
    async read(gateway, denial) {
      const id = await send(gateway, denial);
      const { requests } = await ui(gateway, "requests?status=failed&limit=9");
      return requests.find((each: { id: string }) => each.id === id).cause;
    },
  },
  {
    name: "the report of a request",
    async read(gateway, denial) {
      const id = await send(gateway, denial);
      const { requests } = await ui(gateway, "requests?limit=9");
      const { record } = requests.find((each: { id: string }) =>
        each.id === id
      );
      return JSON.stringify(await ui(gateway, `requests/${record}`))
        .replaceAll(/\\*"/g, '"');
    },
  },
  {
    name: "a trace",
    read: (gateway, denial) =>
      traced(gateway, "debug/trace", denial, () => send(gateway, denial)),
  },
  {
    name: "the playground",
    read: (gateway, denial) =>
      traced(gateway, "ui/api/trace", denial, async () => {
        const { port, admin } = gateway;
        const url = gateway.origin + denial.path;
        const { headers } = denial;
        const response = await fetch(`${admin}/ui/api/playground/send`, {
          method: "POST",
          headers: { "sec-fetch-site": "same-origin" },
          body: JSON.stringify({ method: "GET", port, url, headers }),
        });
        assert.match(await response.text(), /^\{"status":4/);
      }),
  },
];

/** Sends a request that is denied; returns its ID. */
async function send(
  { origin }: GatewayProcess,
  { path, headers, status }: Denial,
): Promise<string> {
  const response = await fetch(origin + path, { headers });
  await response.text();
  assert.equal(response.status, status, path);
  return response.headers.get("x-request-id") ?? "";
}

async function ui({ admin }: GatewayProcess, path: string) {
  return await (await fetch(`${admin}/ui/api/${path}`)).json();
}

/** Returns the events of a request as people read them: values follow their names. */
async function traced(
  { admin }: GatewayProcess,
  path: string,
  { path: of }: Denial,
  request: () => Promise<unknown>,
): Promise<string> {
  const filter = encodeURIComponent(`request.path == "${of}"`);
  const stream = await fetch(`${admin}/${path}?filter=${filter}`);
  const [, text] = await Promise.all([request(), stream.text()]);
  return text.replaceAll(/\\*"/g, '"')
    .replaceAll(/"name":"(.*?)","value":"?(.*?)"?\}/g, "$1 is $2")
    .replaceAll("is blue", 'is "blue"');
}

Deno.test("401, 403, 404 and 429 show their values, and no secret, in explain, lists, reports, traces and the playground", async () => {
  await using gateway = await GatewayProcess.start({ config });
  for (const denial of await denialsAt(gateway)) {
    for (let i = 0; i < (denial.before ?? 0); i++) {
      const { headers } = denial;
      await (await fetch(gateway.origin + denial.path, { headers })).text();
    }
    const token = denial.headers["authorization"]?.split(/[ .]/).at(-1);
    for (const { name, read } of surfaces) {
      const text = await read(gateway, denial);
      for (const value of denial.shows) {
        const place = `${denial.path} in ${name}: ${value}\n${text}`;
        assert(text.includes(value), place);
      }
      for (const hidden of [secret, key, token ?? key]) {
        assert(!text.includes(hidden), `${hidden} in ${name}\n${text}`);
      }
    }
  }
});
