import assert from "node:assert/strict";
import { startIdpA } from "../../cli/dev/mock_idp_a.ts";
import { startIdpB } from "../../cli/dev/mock_idp_b.ts";
import { freePort } from "../harness/free_port.ts";
import { startProtectedGateway } from "../harness/protected_gateway.ts";

// Python MCP clients at every kind of provider; `make interop-python` installs them and runs this file.

const folder = Deno.env.get("PYTHON_CLIENTS");
if (folder === undefined) {
  throw new Error('Set PYTHON_CLIENTS, or use "make interop-python"');
}

/** Clients by the name of their virtual environment. */
const clients = [
  {
    name: "mcp 1",
    environment: "mcp1",
    program: "mcp_sdk.py",
    isStrict: false,
  },
  { name: "mcp 2", environment: "mcp2", program: "mcp_sdk.py", isStrict: true },
  {
    name: "FastMCP",
    environment: "mcp2",
    program: "fastmcp_client.py",
    isStrict: true,
  },
];

const providers = [
  { provider: "IdpA", sendsIssuer: false },
  { provider: "IdpA", sendsIssuer: true },
  { provider: "IdpB", sendsIssuer: true },
] as const;

for (const { name, environment, program, isStrict } of clients) {
  for (const setting of providers) {
    const { provider, sendsIssuer } = setting;
    const where = `${provider}${sendsIssuer ? " with iss" : ""}`;
    Deno.test(`${name} logs in at ${where} in issuer mode Proxied`, async () => {
      await using gateway = await startGateway(setting, "Proxied");

      const { tools, errors } = await run(environment, program, gateway.url);

      assert(tools.includes("echo"), errors);
    });
  }

  // Why Proxied is recommended: these clients append "?…" to an endpoint that has a query.
  Deno.test(`${name} cannot log in at IdpA in issuer mode Gateway`, async () => {
    const setting = { provider: "IdpA", sendsIssuer: false } as const;
    await using gateway = await startGateway(setting, "Gateway");

    const { tools } = await run(environment, program, gateway.url);

    assert.deepEqual(tools, []);
  });

  Deno.test(`${name} ${isStrict ? "cannot log" : "logs"} in at IdpB in issuer mode Gateway`, async () => {
    const setting = { provider: "IdpB", sendsIssuer: true } as const;
    await using gateway = await startGateway(setting, "Gateway");

    const { tools, errors } = await run(environment, program, gateway.url);

    assert.equal(tools.includes("echo"), !isStrict, errors);
  });
}

async function startGateway(
  { provider, sendsIssuer }: (typeof providers)[number],
  issuerMode: "Proxied" | "Gateway",
) {
  const port = freePort();
  const redirectUris = issuerMode === "Gateway" ? undefined : [
    `http://127.0.0.1:${port}/.well-known/oauth-authorization-server/mcp/callback`,
  ];
  const options = redirectUris && { redirectUris };
  const idp = provider === "IdpA"
    ? await startIdpA({ sendsIssuer, registration: false, ...options })
    : await startIdpB({ roles: ["editor"], ...options });
  return await startProtectedGateway(idp, {
    port,
    provider,
    mcp: {
      issuerMode,
      clientId: idp.clientId,
      ...issuerMode === "Gateway" && { registration: "Gateway" },
    },
  });
}

async function run(environment: string, program: string, url: string) {
  const { stdout, stderr } = await new Deno.Command(
    `${folder}/${environment}/bin/python`,
    {
      args: [new URL(`python/${program}`, import.meta.url).pathname, url],
      env: { NO_COLOR: "1" },
    },
  ).output();
  const errors = new TextDecoder().decode(stderr);
  const text = new TextDecoder().decode(stdout).trim();
  const tools: string[] = text.startsWith("[") ? JSON.parse(text) : [];
  return { tools, errors };
}
