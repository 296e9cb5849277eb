import assert from "node:assert/strict";
import { examine } from "../../../../cli/mcp/examine.ts";
import {
  challenge,
  type FixtureFaults,
  fixturePaths as paths,
  soundResource,
  soundServer,
  startOAuthFixture,
} from "../../../harness/login/oauth_fixture.ts";

Deno.test("a sound server has no finding, and every client gets in", async () => {
  await using server = startOAuthFixture();

  const { findings, clients } = await examine(server.url);

  assert.deepEqual(findings.filter(({ verdict }) => verdict !== "ok"), []);
  assert.deepEqual(clients.filter(({ getsIn }) => !getsIn), []);
  assert(findings.length > 15);
});

/** A broken server, the check that names its cause, and how many of the clients get in. */
interface BrokenServer {
  readonly faults: FixtureFaults;
  readonly cause: string;
  readonly clients: number;
}

const all = 8;

const brokenServers: Readonly<Record<string, BrokenServer>> = {
  "lets everybody in": {
    faults: {
      [paths.mcp]: () => ({ json: { jsonrpc: "2.0", id: 1, result: {} } }),
    },
    cause: "not-protected",
    clients: 0,
  },
  "redirects": {
    faults: {
      [paths.mcp]: () =>
        Response.redirect("https://other.example.com/mcp", 307),
    },
    cause: "redirected",
    clients: 0,
  },
  "responds with 403": {
    faults: { [paths.mcp]: () => ({ status: 403, json: {} }) },
    cause: "forbidden-not-challenged",
    clients: 0,
  },
  "has no endpoint there": {
    faults: { [paths.mcp]: () => ({ status: 404, json: {} }) },
    cause: "no-mcp-endpoint",
    clients: 0,
  },
  "fails": {
    faults: { [paths.mcp]: () => ({ status: 502, json: {} }) },
    cause: "server-error",
    clients: 0,
  },
  "sends no challenge": {
    faults: { [paths.mcp]: () => challenge(undefined) },
    cause: "no-challenge",
    clients: 0,
  },
  "asks for Basic": {
    faults: { [paths.mcp]: () => challenge('Basic realm="x"') },
    cause: "no-challenge",
    clients: 0,
  },
  "does not name its metadata": {
    faults: { [paths.mcp]: () => challenge("Bearer") },
    cause: "challenge-without-metadata",
    clients: all,
  },
  "calls a missing token invalid": {
    faults: {
      [paths.mcp]: (origin) =>
        challenge(
          `Bearer error="invalid_token", resource_metadata="${origin}${paths.resource}"`,
        ),
    },
    cause: "error-without-token",
    clients: all,
  },
  "has no resource metadata": {
    faults: { [paths.resource]: () => ({ status: 404, json: {} }) },
    cause: "no-resource-metadata",
    clients: 0,
  },
  "serves HTML as metadata": {
    faults: { [paths.resource]: () => new Response("<html>") },
    cause: "no-resource-metadata",
    clients: 0,
  },
  "names another resource": {
    faults: {
      [paths.resource]: (origin) => ({
        json: {
          ...soundResource(origin),
          resource: "http://internal:9000/mcp",
        },
      }),
    },
    cause: "resource-internal",
    clients: 0,
  },
  "names no authorization server": {
    faults: {
      [paths.resource]: (origin) => ({
        json: { ...soundResource(origin), authorization_servers: [] },
      }),
    },
    cause: "no-authorization-server",
    clients: 0,
  },
  "names an authorization server that is no URL": {
    faults: {
      [paths.resource]: (origin) => ({
        json: { ...soundResource(origin), authorization_servers: ["tenant"] },
      }),
    },
    cause: "issuer-is-no-url",
    clients: 0,
  },
  "has no server metadata": {
    faults: { [paths.server]: () => ({ status: 404, json: {} }) },
    cause: "no-server-metadata",
    clients: 0,
  },
  "has the provider's issuer": broken(
    { issuer: "https://tenant.example.com/" },
    "issuer-mismatch",
    4,
  ),
  "has an authorization endpoint with a query": {
    faults: {
      [paths.server]: (origin) => ({
        json: {
          ...soundServer(origin),
          authorization_endpoint: `${origin}/as/authorize?audience=x`,
        },
      }),
    },
    cause: "endpoint-with-query",
    clients: all - 2,
  },
  "has no PKCE": broken(
    { code_challenge_methods_supported: undefined },
    "no-pkce",
    2,
  ),
  "has a token endpoint in plain text": broken(
    { token_endpoint: "http://tenant.example.com/token" },
    "bad-token-endpoint",
    0,
  ),
  "registers nobody": broken(
    { registration_endpoint: undefined },
    "no-registration",
    0,
  ),
  "refuses registrations": {
    faults: {
      [paths.register]: () => ({
        status: 403,
        json: { error: "access_denied" },
      }),
    },
    cause: "registration-closed",
    clients: 0,
  },
  "forgets the redirect URIs": {
    faults: {
      [paths.register]: () => ({ status: 201, json: { client_id: "c" } }),
    },
    cause: "registration-without-redirect-uris",
    clients: all - 4,
  },
  "lists a scope that the provider does not know": {
    faults: {
      [paths.authorize]: () =>
        Response.redirect(
          "http://127.0.0.1:33418/callback?error=invalid_scope&error_description=no",
        ),
    },
    cause: "authorization-invalid-scope",
    clients: 0,
  },
  "shows an error page in place of a login": {
    faults: {
      [paths.authorize]: () => new Response("bad client", { status: 400 }),
    },
    cause: "authorization-rejected",
    clients: 0,
  },
};

for (
  const [what, { faults, cause, clients }] of Object.entries(brokenServers)
) {
  Deno.test(`a server that ${what} is diagnosed: ${cause}`, async () => {
    await using server = startOAuthFixture(faults);

    const examination = await examine(server.url);

    const problems = examination.findings.filter(({ verdict }) =>
      verdict !== "ok"
    );
    assert.deepEqual(problems.map(({ id }) => id), [cause]);
    assert((problems[0]?.fix ?? "").length > 20);
    const inside = examination.clients.filter(({ getsIn }) => getsIn);
    assert.equal(inside.length, clients, JSON.stringify(examination.clients));
  });
}

Deno.test("a server that nobody answers for is diagnosed: unreachable", async () => {
  const server = startOAuthFixture();
  await server[Symbol.asyncDispose]();

  const { findings } = await examine(server.url);

  assert.deepEqual(findings.map(({ id }) => id), ["unreachable"]);
});

function broken(
  members: Readonly<Record<string, unknown>>,
  cause: string,
  clients: number,
): BrokenServer {
  return {
    faults: {
      [paths.server]: (origin) => ({
        json: { ...soundServer(origin), ...members },
      }),
    },
    cause,
    clients,
  };
}
