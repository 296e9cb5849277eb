/** Backends that get tokens of the gateway: client credentials, token exchange, assertions; renewal and failures. */
import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { textSource, validateConfiguration } from "../../../mod.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  eventsOf,
  startTracedGateway,
} from "../../harness/gateway/traced_gateway.ts";
import {
  CLIENT_SECRET,
  startTokenServer,
  type TokenServer,
} from "../../harness/login/token_server.ts";
import { startProvider } from "../../harness/llm/provider_server.ts";
import { jwksOf } from "../../harness/login/tokens.ts";

const RESOURCE = "https://api.example/";

/** A backend that returns the header fields that it got, and rejects the tokens in `rejected`. */
function startBackend() {
  const rejected = new Set<string>();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const authorization = request.headers.get("authorization") ?? "";
      const body = await request.text();
      if (!rejected.has(authorization)) {
        return Response.json({ authorization, body });
      }
      const challenge = 'Bearer resource_metadata="https://backend.example/"';
      const headers = { "www-authenticate": challenge };
      return new Response("rejected", { status: 401, headers });
    },
  );
  return {
    rejected,
    port: server.addr.port,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** The credentials of the client `gateway`, without a kind. */
function client({ idp }: TokenServer, more: Fields = {}): Fields {
  return {
    issuer: idp.issuer,
    clientId: "gateway",
    clientSecret: { key: CLIENT_SECRET },
    resource: RESOURCE,
    ...more,
  };
}

/** A configuration with one backend, on a route that verifies the tokens of users. */
function configure(
  { users }: TokenServer,
  port: number,
  credentials: Fields,
  mode = "Strict",
) {
  const provider = {
    issuer: users.issuer,
    audiences: ["https://gw.example/mcp"],
    jwks: { inline: jwksOf(users) },
  };
  return {
    // Each worker gets tokens for itself.
    config: { workers: 1 },
    backends: [{
      name: "api",
      static: { host: "127.0.0.1", port },
      credentials,
    }],
    routes: [{
      policies: { jwtAuthentication: { mode, providers: [provider] } },
      backends: [{ backend: "api" }],
    }],
  };
}

/** Sends a request as a user; returns the claims of the token that the backend got. */
async function callAs(
  origin: string,
  { users }: TokenServer,
  sub: string | undefined,
  claims: Fields = {},
) {
  const response = await fetch(origin, {
    method: "POST",
    body: "hello",
    headers: sub === undefined ? {} : {
      authorization: `Bearer ${await users.sign({ sub, ...claims })}`,
    },
  });
  const text = await response.text();
  if (!response.ok) return { status: response.status, text, response };
  const { authorization, body } = JSON.parse(text);
  assert.equal(body, "hello");
  const token = String(authorization).replace("Bearer ", "");
  return { status: 200, token, claims: decodeJwt(token), response };
}

Deno.test("the gateway gets one token for itself, with a secret or a key, however many requests need it", async () => {
  await using server = await startTokenServer();
  await using backend = startBackend();
  const signer = {
    ...client(server, { clientId: "signer" }),
    clientSecret: undefined,
    privateKey: { key: server.privateKey },
  };
  for (
    const [id, own] of [
      ["gateway", client(server)],
      [
        "gateway",
        client(server, {
          issuer: undefined,
          tokenEndpoint: `${server.idp.origin}/token`,
        }),
      ],
      ["signer", signer],
    ] as const
  ) {
    const before = server.requests.length;
    await using gateway = await startTestGateway(
      configure(server, backend.port, { clientCredentials: own }),
    );

    const results = await Promise.all(
      Array.from(
        { length: 20 },
        (_, index) => callAs(gateway.origin, server, `user${index}`),
      ),
    );

    assert.equal(new Set(results.map(({ token }) => token)).size, 1);
    assert.equal(results[0]?.claims?.["client_id"], id);
    assert.equal(results[0]?.claims?.aud, RESOURCE);
    const requests = server.requests.slice(before);
    assert.deepEqual(requests.map(({ client }) => client), [id]);
  }
});

Deno.test("each user gets tokens of its own, and a token with other rights too", async () => {
  await using server = await startTokenServer();
  await using backend = startBackend();
  for (
    const [kind, parameter] of [
      ["tokenExchange", "subject_token"],
      ["jwtBearer", "assertion"],
    ] as const
  ) {
    const before = server.requests.length;
    await using gateway = await startTestGateway(
      configure(server, backend.port, { [kind]: client(server) }),
    );
    const call = (sub: string, claims?: Fields) =>
      callAs(gateway.origin, server, sub, claims);

    const users = ["anna", "Anna", "anna\u0000", "ben"];
    const rounds = await Promise.all(
      [...users, ...users, ...users].map((user) => call(user)),
    );
    const [anna] = rounds;
    const renewed = await call("anna", { exp: 2e9, iat: 1, jti: "2" });
    const lesser = await call("anna", { scope: "read" });

    assert.deepEqual(
      rounds.map(({ claims }) => claims?.sub),
      [...users, ...users, ...users],
    );
    assert.equal(renewed.token, anna?.token);
    assert.notEqual(lesser.token, anna?.token);
    const requests = server.requests.slice(before);
    assert.equal(requests.length, users.length + 1);
    assert(requests.every(({ parameters }) => parameters[parameter]));
  }
});

Deno.test("an actor is asked for, and tokens without it are rejected", async () => {
  await using server = await startTokenServer();
  await using backend = startBackend();
  const tokenExchange = client(server, { actor: {} });
  await using gateway = await startTestGateway(
    configure(server, backend.port, { tokenExchange }),
  );

  const delegated = await callAs(gateway.origin, server, "anna");
  server.ignoresActor = true;
  const ignored = await callAs(gateway.origin, server, "ben");

  assert.deepEqual(delegated.claims?.["act"], { sub: "gateway" });
  assert.equal(ignored.status, 502);
  assert.match(gateway.log.join("\n"), /the token has no \\"act\\"/);
});

Deno.test("assertions of a file are read anew for each token", async () => {
  await using server = await startTokenServer();
  await using backend = startBackend();
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(file, await server.users.sign({ sub: "pod" }));
    const jwtBearer = client(server, { assertion: { file } });
    await using gateway = await startTestGateway(
      configure(server, backend.port, { jwtBearer }),
    );

    const first = await callAs(gateway.origin, server, "anna");
    const second = await callAs(gateway.origin, server, "ben");
    backend.rejected.add(`Bearer ${first.token}`);
    await Deno.writeTextFile(file, await server.users.sign({ sub: "pod2" }));
    const third = await callAs(gateway.origin, server, "anna");

    assert.equal(first.claims?.sub, "pod");
    assert.equal(second.token, first.token);
    assert.equal(third.claims?.sub, "pod2");
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("a request whose token the backend rejects is sent once more; then the client gets the 401 without the challenge", async () => {
  await using server = await startTokenServer();
  await using backend = startBackend();
  const tokenExchange = client(server);
  await using gateway = await startTestGateway(
    configure(server, backend.port, { tokenExchange }),
  );
  const first = await callAs(gateway.origin, server, "anna");

  backend.rejected.add(`Bearer ${first.token}`);
  const second = await callAs(gateway.origin, server, "anna");
  backend.rejected.add(`Bearer ${second.token}`);
  const before = server.requests.length;
  const third = await callAs(gateway.origin, server, "anna");
  const other = await callAs(gateway.origin, server, "ben");

  assert.equal(second.status, 200);
  assert.notEqual(second.token, first.token);
  assert.equal(third.status, 401);
  assert.equal(third.response.headers.get("www-authenticate"), null);
  // The new token did not help: the backend rejects the user.
  assert.equal(server.requests.length, before + 1);
  assert.equal(other.claims?.sub, "ben");
});

Deno.test("without a token, requests fail closed, and trace and log say why without a secret", async () => {
  await using server = await startTokenServer();
  await using backend = startBackend();
  const tokenExchange = client(server);
  await using gateway = await startTracedGateway(
    configure(server, backend.port, { tokenExchange }, "Optional"),
  );
  const failures = [
    { status: 403, sub: undefined, problem: /no verified token of a user/ },
    { status: 403, sub: "eve", problem: /responds with 400, invalid_grant/ },
    { status: 502, body: { error: "unauthorized_client" } },
    { status: 502, body: { error: CLIENT_SECRET }, problem: /unknown error/ },
    { status: 503, answer: 500, body: { error: "server_error" } },
    { status: 503, answer: 200, body: "no JSON" },
    { status: 503, answer: 200, body: { access_token: "a\r\nb" } },
    {
      status: 502,
      answer: 200,
      body: { access_token: "a", token_type: "Bearer" },
      problem: /issued_token_type/,
    },
    {
      status: 503,
      answer: 200,
      body: { access_token: "a", token_type: "DPoP" },
      problem: /expected a token of type/,
    },
  ];
  server.blocked.add("eve");
  for (const [index, failure] of failures.entries()) {
    const { status, answer = 400, body, problem = /Cannot get a token/ } =
      failure;
    server.fault = body === undefined ? undefined : { status: answer, body };
    const sub = "sub" in failure ? failure.sub : `user${index}`;
    const watched = await gateway.watch();

    const result = await callAs(gateway.origin, server, sub);

    const trace = JSON.stringify(await eventsOf(watched));
    assert.equal(result.status, status, `${index}`);
    assert.match(trace, /"kind":"credentials"/);
    assert.match(trace, problem);
  }
  const shown = gateway.log.join("\n");
  assert.match(shown, /Cannot get a token for backend/);
  assert(!shown.includes(CLIENT_SECRET));
});

Deno.test("a server that is away is asked again, not for every request, and tokens at hand stay in use", async () => {
  await using server = await startTokenServer();
  await using backend = startBackend();
  const tokenExchange = client(server);
  await using gateway = await startTestGateway(
    configure(server, backend.port, { tokenExchange }),
  );
  const anna = await callAs(gateway.origin, server, "anna");
  server.fault = { status: 503, body: {} };
  const before = server.requests.length;

  const again = await callAs(gateway.origin, server, "anna");
  const failed = await Promise.all(
    Array.from(
      { length: 10 },
      () => callAs(gateway.origin, server, "ben"),
    ),
  );

  assert.equal(again.token, anna.token);
  assert.deepEqual(
    [...new Set(failed.map(({ status }) => status))],
    [503],
  );
  assert.equal(failed[0]?.response.headers.get("retry-after"), "1");
  assert.equal(server.requests.length, before + 1);
});

Deno.test("credentials that cannot be used are errors of the configuration", async () => {
  const issuer = "https://idp.example/";
  const secret = { key: CLIENT_SECRET };
  const key = { key: "-----BEGIN planted-----" };
  const cases: readonly (readonly [Fields, RegExp])[] = [
    [{}, /or one of "clientCredentials", "tokenExchange", "jwtBearer"/],
    [{ key: "k", jwtBearer: { issuer, clientId: "a" } }, /cannot be used tog/],
    [{ clientCredentials: { issuer, clientId: "a" } }, /"clientSecret" or/],
    [
      { tokenExchange: { clientId: "a" } },
      /"issuer" or "tokenEndpoint" is required/,
    ],
    [
      {
        clientCredentials: {
          issuer,
          clientId: "a",
          clientSecret: secret,
          parameters: { client_secret: "x" },
        },
      },
      /the gateway sends "client_secret" itself/,
    ],
    [
      {
        clientCredentials: {
          issuer,
          clientId: "a",
          clientSecret: { fromEnv: "NO_SUCH_VARIABLE" },
        },
      },
      /environment variable "NO_SUCH_VARIABLE" is not set/,
    ],
    [
      { clientCredentials: { issuer, clientId: "a", privateKey: key } },
      /it is no private key in PEM/,
    ],
  ];
  for (const [credentials, expected] of cases) {
    const { diagnostics } = await validateConfiguration(
      textSource(JSON.stringify({
        gateways: { default: { port: 1 } },
        backends: [{
          name: "api",
          static: { host: "127.0.0.1", port: 2 },
          credentials,
        }],
        routes: [{ backends: [{ backend: "api" }] }],
      })),
      {},
    );
    const messages = diagnostics.map(({ message }) => message).join("\n");
    assert.match(messages, expected);
    assert(!messages.includes("planted"));
  }
});

Deno.test("an LLM provider gets tokens in place of a key", async () => {
  await using server = await startTokenServer();
  await using provider = startProvider();
  await using gateway = await startTestGateway({
    routes: [{
      backends: [{
        llm: {
          provider: "OpenAICompatible",
          host: provider.host,
          plainText: true,
          credentials: { clientCredentials: client(server) },
        },
      }],
    }],
  });

  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: "Bearer of-the-client" },
    body: '{"model":"m","messages":[]}',
  });
  await response.text();

  const sent = provider.requests[0]?.headers.get("authorization") ?? "";
  assert.equal(decodeJwt(sent.replace("Bearer ", "")).aud, RESOURCE);
});

const POLICY_API = "policy.gateway.internal/v1alpha1";

Deno.test("a backend of a cluster has its secrets in Secrets, and reads no files", async () => {
  await using server = await startTokenServer();
  await using backend = startBackend();
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "client" },
    stringData: { clientSecret: CLIENT_SECRET },
  };
  const resourceOf = (credentials: Fields, metadata: Fields = {}) => ({
    apiVersion: POLICY_API,
    kind: "GatewayBackend",
    metadata: { name: "api", ...metadata },
    spec: { static: { host: "127.0.0.1", port: backend.port }, credentials },
  });
  const clientSecret = { secretRef: { name: "client" } };
  const tokenExchange = client(server, { clientSecret });
  const { routes } = configure(server, backend.port, {});
  await using gateway = await startTestGateway(
    { routes },
    {},
    [secret, resourceOf({ tokenExchange })],
  );
  assert.equal((await callAs(gateway.origin, server, "anna")).status, 200);

  const cases: readonly (readonly [Fields, RegExp])[] = [
    [
      { tokenExchange: { ...tokenExchange, actor: { file: "/etc/hostname" } } },
      /actor\.file.*cannot read files of the gateway/,
    ],
    [
      { jwtBearer: { ...tokenExchange, assertion: { file: "/etc/hostname" } } },
      /assertion\.file.*cannot read files of the gateway/,
    ],
    [
      { clientCredentials: client(server) },
      /clientSecret\.key.*needs "secretRef"/,
    ],
  ];
  for (const [credentials, expected] of cases) {
    const resources = [secret, resourceOf(credentials, { uid: "1" })];
    const { text } = await validateConfiguration(
      textSource(resources.map((each) => JSON.stringify(each)).join("\n---\n")),
      {},
    );
    assert.match(text, expected);
  }
});

Deno.test("a backend with tokens of the caller on a route without a login is a warning", async () => {
  const issuer = "https://idp.example/";
  const tokenExchange = { issuer, clientId: "a" };
  const login = {
    jwtAuthentication: {
      providers: [{ issuer, audiences: ["a"], jwks: { url: issuer } }],
    },
  };
  const messagesOf = async (credentials: Fields, policies: Fields) => {
    const { diagnostics } = await validateConfiguration(
      textSource(JSON.stringify({
        gateways: { default: { port: 1 } },
        routes: [{
          policies,
          backends: [{
            mcp: {
              servers: [{ name: "a", url: "http://127.0.0.1:2/", credentials }],
            },
          }],
        }],
      })),
      {},
    );
    return diagnostics.map(({ message }) => message);
  };

  const [warning = "", ...others] = await messagesOf({ tokenExchange }, {});
  assert.match(warning, /gets tokens of the caller, whom no policy verifies/);
  assert.deepEqual(others, []);
  assert.deepEqual(await messagesOf({ tokenExchange }, login), []);
  assert.deepEqual(await messagesOf({ key: "k" }, {}), []);
});
