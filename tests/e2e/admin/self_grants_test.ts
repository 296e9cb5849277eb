/** Users see which clients they have logged in, and log them out. */
import assert from "node:assert/strict";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { initializeMcp } from "../../harness/clients/initialize_mcp.ts";
import {
  type AdminLoginSite,
  startAdminLoginSite,
} from "../../harness/gateway/admin_login_site.ts";
import { protectedConfig } from "../../harness/gateway/protected_gateway.ts";
import { loginSteps } from "../../harness/gateway/proxied_gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";

const team = "{'ada': 'blue', 'paul': 'blue', 'vera': 'blue'}[jwt.sub]";

/** Starts an admin interface, and an MCP server whose clients log in at the same provider. */
async function startSite() {
  const url = `http://127.0.0.1:${freePort()}/mcp`;
  const steps = loginSteps(url);
  const secret = "planted/mcp+secret-2b7d";
  const stack = new AsyncDisposableStack();
  const server = stack.adopt(startMcpServer(), (server) => server.close());
  const site = stack.use(
    await startAdminLoginSite({ workers: 2 }, {
      team,
      port: Number(new URL(url).port),
      clients: [{
        client_id: "mcp",
        client_secret: secret,
        grant_types: ["authorization_code", "refresh_token"],
        redirect_uris: [`${steps.base}/callback`],
      }],
      route(idp) {
        const { routes } = protectedConfig(idp, {
          provider: "IdpA",
          url,
          upstream: server.origin,
          mcp: {
            provider: undefined,
            issuerMode: "Proxied",
            clientId: "mcp",
            clientSecret: secret,
            scopes: ["offline_access", "openid"],
            resourceMetadata: { resource: url },
          },
        });
        assert(Array.isArray(routes));
        return routes[0];
      },
    }),
  );
  return {
    site,
    steps,
    url,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const ownPage = { "sec-fetch-site": "same-origin" };

async function send(
  { admin }: AdminLoginSite,
  action: string,
  cookie: string,
  body?: URLSearchParams | object,
) {
  const [method = "", path = ""] = action.split(" ");
  const isForm = body instanceof URLSearchParams;
  const response = await fetch(admin + path, {
    method,
    headers: {
      cookie,
      connection: "close",
      ...ownPage,
      ...body !== undefined && !isForm &&
        { "content-type": "application/json" },
    },
    ...body !== undefined && { body: isForm ? body : JSON.stringify(body) },
  });
  return { status: response.status, text: await response.text() };
}

Deno.test("users see their own logins at /self, and log out their own clients only", async () => {
  await using setup = await startSite();
  const { site, steps, url } = setup;
  const created = await fetch(`${site.admin}/access/teams`, {
    method: "POST",
    headers: {
      authorization: "Bearer 0123456789abcdef",
      "content-type": "application/json",
    },
    body: JSON.stringify({ id: "blue" }),
  });
  assert.equal(created.status, 200, await created.text());
  const client = await steps.registerClient("Editor <1>");
  const logIn = async (account: string) => {
    const code = await steps.code(client, { account });
    return (await steps.redeem(client, code)).body;
  };
  const tokens = { ada: await logIn("ada"), paul: await logIn("paul") };
  const [ada, paul, vera] = await Promise.all(
    ["ada", "paul", "vera"].map(site.logIn),
  );
  assert(ada && paul && vera);
  const grantsOf = async (cookie: string) =>
    JSON.parse((await send(site, "GET /self/grants", cookie)).text).grants;

  const [own] = await grantsOf(ada);
  const [foreign] = await grantsOf(paul);
  const page = await send(site, "GET /self", ada);
  const attacks = [
    await send(site, `POST /self/grants/${foreign.id}`, ada, {
      action: "revoke",
    }),
    await send(
      site,
      "POST /self",
      ada,
      new URLSearchParams({
        logout: foreign.id,
      }),
    ),
    await send(site, `POST /self/grants/${own.id}`, ada, { action: "end" }),
    await send(site, `POST /self/grants/${own.id}`, "", { action: "revoke" }),
    // Viewers see the grants of all, and end only their own.
    await send(site, "POST /ui/api/grants/revoke", vera, { id: own.id }),
  ];
  const still = await initializeMcp({ url }, tokens.paul.access_token);
  const ended = await send(
    site,
    "POST /self",
    ada,
    new URLSearchParams({
      logout: own.id,
    }),
  );
  const refreshed = await steps.refresh(client, tokens.ada.refresh_token);
  const byApi = await send(site, `POST /self/grants/${foreign.id}`, paul, {
    action: "revoke",
  });
  const audit = await send(site, "GET /audit", vera);

  assert.deepEqual([own.client, own.subject, own.resource], [
    "Editor <1>",
    "ada",
    url,
  ]);
  assert.match(page.text, /<strong>Editor &#60;1&#62;</);
  assert(!page.text.includes(foreign.id));
  assert.deepEqual(attacks.map(({ status }) => status), [
    404,
    404,
    400,
    401,
    403,
  ]);
  assert.equal(still.status, 200);
  assert.match(ended.text, /The client is logged out\..*No client is/s);
  assert.equal(refreshed.body.error, "invalid_grant");
  assert.equal(byApi.status, 200);
  assert.deepEqual(await grantsOf(paul), []);
  assert.match(
    audit.text,
    /"outcome": "logged out Editor <1> at http:\/\/127[^ ]+: done"/,
  );
});
