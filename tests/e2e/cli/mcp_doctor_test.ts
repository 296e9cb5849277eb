import assert from "node:assert/strict";
import { examine } from "../../../cli/mcp/examine.ts";
import { LoginCache } from "../../../cli/mcp/login_cache.ts";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { logIn } from "../../harness/browser/browser_user.ts";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { startProtectedGateway } from "../../harness/gateway/protected_gateway.ts";
import { startProxiedGateway } from "../../harness/gateway/proxied_gateway.ts";

/** Does in the browser what a user does, up to the page of gwctl. */
async function openBrowser(url: string): Promise<void> {
  const callback = await logIn(url);
  await (await fetch(callback)).body?.cancel();
}

Deno.test("doctor logs in at a gateway in issuer mode Proxied and calls a tool", async () => {
  await using server = await startProxiedGateway();

  const { findings, clients, login } = await examine(server.gateway.url, {
    openBrowser,
  });

  assert.deepEqual(findings.filter(({ verdict }) => verdict === "error"), []);
  assert.deepEqual(clients.filter(({ getsIn }) => !getsIn), []);
  assert.match(findings.at(-1)?.seen ?? "", /^\d+ tools, called /);
  assert.equal(typeof login?.tokens.accessToken, "string");
});

Deno.test("doctor names who cannot log in at IdpA in issuer mode Gateway", async () => {
  const idp = await startIdpA();
  await using gateway = await startProtectedGateway(idp, { provider: "IdpA" });

  const { clients } = await examine(gateway.url);

  assert.deepEqual(
    clients.filter(({ getsIn }) => !getsIn).map(({ client, because }) => [
      client,
      ...because,
    ]),
    [
      ["Python SDK 1", "endpoint-with-query"],
      ["Python SDK 2, FastMCP", "endpoint-with-query"],
    ],
  );
});

Deno.test("gwctl mcp doctor prints what failed with its fix, and exits with 1", async () => {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response("{}", { status: 401 }),
  );
  const url = `http://127.0.0.1:${server.addr.port}/mcp`;
  try {
    const { code, stdout, stderr } = await gwctl(["mcp", "doctor", url]);

    assert.equal(code, 1);
    assert.match(stdout, /✗ A 401 has a Bearer challenge\n {6}seen {2}no WWW-/);
    assert.match(stdout, /fix {3}Send `WWW-Authenticate/);
    assert.match(stdout, /✗ Claude {2}no-challenge/);
    assert.match(stderr, /2 of 3 checks failed/);
  } finally {
    await server.shutdown();
  }
});

Deno.test("gwctl mcp doctor says why a server cannot be reached, and speaks http with this machine", async () => {
  const taken = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = taken.addr;
  taken.close();

  const { code, stdout } = await gwctl(["mcp", "doctor", `127.0.0.1:${port}`]);

  assert.equal(code, 1);
  assert.match(stdout, new RegExp(`^http://127\\.0\\.0\\.1:${port}/\n`));
  assert.match(stdout, /seen {2}.*connection refused/i);
});

Deno.test("gwctl mcp tools and call use the cached login", async () => {
  await using server = await startProxiedGateway();
  const { url } = server.gateway;
  const state = await Deno.makeTempDir();
  try {
    const { login } = await examine(url, { openBrowser });
    assert(login !== undefined);
    await new LoginCache(`${state}/gwctl`).set(url, login);
    const env = { XDG_STATE_HOME: state };

    const tools = await gwctl(["mcp", "tools", url], env);
    const call = await gwctl(
      ["mcp", "call", url, "echo", '{"message":"hi"}'],
      env,
    );

    assert.match(tools.stdout, /^echo {2}/m);
    assert.equal(tools.code, 0, tools.stderr);
    assert.equal(call.code, 0, call.stderr + call.stdout);
    assert.match(call.stdout, /hi/);
    const { mode } = await Deno.stat(`${state}/gwctl/logins.json`);
    assert.equal((mode ?? 0) & 0o077, 0);
  } finally {
    await Deno.remove(state, { recursive: true });
  }
});

Deno.test("gwctl mcp tools replaces a cached token that the server rejects", async () => {
  await using server = await startProxiedGateway();
  const { url } = server.gateway;
  const state = await Deno.makeTempDir();
  try {
    const { login: cached } = await examine(url, { openBrowser });
    assert(cached !== undefined);
    const tokens = { ...cached.tokens, accessToken: "revoked" };
    const cache = new LoginCache(`${state}/gwctl`);
    await cache.set(url, { ...cached, tokens });

    const { code, stdout, stderr } = await gwctl(["mcp", "tools", url], {
      XDG_STATE_HOME: state,
    });

    assert.equal(code, 0, stderr);
    assert.match(stdout, /^echo {2}/m);
    const renewed = await cache.get(url);
    assert.notEqual(renewed?.tokens.accessToken, "revoked");
  } finally {
    await Deno.remove(state, { recursive: true });
  }
});

async function gwctl(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const { code, stdout, stderr } = await gatewayCommand({
    args,
    env,
    asGwctl: true,
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: decode(stdout), stderr: decode(stderr) };
}
