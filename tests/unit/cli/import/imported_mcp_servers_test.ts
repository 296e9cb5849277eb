import assert from "node:assert/strict";
import { importText } from "../../../../cli/import/import_file.ts";
import { textSource } from "../../../../src/config/configuration_source.ts";
import { parseAllYaml } from "../../../../src/base/yaml_library.ts";
import { validateConfiguration } from "../../../../src/gateway/candidate/candidate.ts";

/** Imports servers; the result must load with the given variables. */
async function imported(
  mcpServers: object,
  environment: Readonly<Record<string, string>> = {},
) {
  const source = JSON.stringify({ mcpServers }, null, "\t");
  const { text, notes } = await importText("mcp.json", source);
  const { diagnostics } = await validateConfiguration(
    textSource(text),
    environment,
  );
  const [document] = parseAllYaml(text);
  const { gateways, routes: [route] } = Object(document);
  return {
    text,
    gateways,
    route,
    servers: route.backends?.[0].mcp.servers,
    notes: notes.map(({ line, message }) => `${line} ${message}`),
    diagnostics,
  };
}

Deno.test("import converts the servers of a desktop client, without their secrets", async () => {
  const secret = "planted-7b1e";
  const { text, notes, gateways, route, servers, diagnostics } = await imported(
    {
      github: {
        type: "http",
        url: "https://api.example.com/mcp/",
        headers: { Authorization: `Bearer ${secret}` },
      },
      "My tickets": {
        url: `https://tickets.example.com/mcp?view=all&apiKey=${secret}`,
        headers: {
          "X-Api-Key": secret,
          Accept: "text/event-stream",
          "x-team": "${env:TEAM}",
          "x-none": null,
        },
        timeout: 30,
      },
      files: {
        command: "npx",
        args: ["server", "--port=1", `--api-key=${secret}`, "--token", secret],
        env: { KEY: secret, PLACE: "${env:PLACE}" },
        cwd: "/srv",
      },
      old: { type: "sse", url: "https://old.example.com/sse" },
      off: { url: "https://off.example.com/mcp", disabled: true },
    },
    {
      GITHUB_TOKEN: "a",
      MY_TICKETS_APIKEY: "b",
      MY_TICKETS_X_API_KEY: "c",
      TEAM: "d",
      FILES_API_KEY: "e",
      FILES_TOKEN: "f",
      FILES_KEY: "g",
      PLACE: "h",
    },
  );

  assert.deepEqual(diagnostics, []);
  assert.equal(`${text}${notes}`.includes(secret), false);
  assert.deepEqual(gateways, {
    default: { port: 3000, address: "127.0.0.1" },
  });
  assert.deepEqual(route.matches, [{
    path: { type: "PathPrefix", value: "/mcp" },
  }]);
  assert.deepEqual(servers, [{
    name: "github",
    url: "https://api.example.com/mcp/",
    credentials: { fromEnv: "GITHUB_TOKEN" },
  }, {
    name: "My-tickets",
    url: "https://tickets.example.com/mcp?view=all&apiKey=${MY_TICKETS_APIKEY}",
    headers: { "X-Api-Key": "${MY_TICKETS_X_API_KEY}", "x-team": "${TEAM}" },
  }, {
    name: "files",
    stdio: {
      command: "npx",
      args: [
        "server",
        "--port=1",
        "--api-key=${FILES_API_KEY}",
        "--token",
        "${FILES_TOKEN}",
      ],
      env: { KEY: "${FILES_KEY}", PLACE: "${PLACE}" },
      cwd: "/srv",
    },
  }, { name: "old", sse: "https://old.example.com/sse" }]);
  const leftOut = "its value is left out; set the environment variable";
  assert.deepEqual(notes, [
    `7 headers.Authorization: ${leftOut} GITHUB_TOKEN`,
    '10 server "My tickets": its name is "My-tickets" here',
    `11 url: apiKey: ${leftOut} MY_TICKETS_APIKEY`,
    `13 headers.X-Api-Key: ${leftOut} MY_TICKETS_X_API_KEY`,
    "14 headers.Accept: the gateway writes it itself",
    "16 headers.x-none: expected a string",
    "18 mcpServers.My tickets.timeout: no counterpart",
    `25 args: api-key: ${leftOut} FILES_API_KEY`,
    `27 args: token: ${leftOut} FILES_TOKEN`,
    `30 env.KEY: ${leftOut} FILES_KEY`,
    '39 server "off": it is disabled; it is left out',
  ]);
});

Deno.test("import leaves out headers and variables named __proto__, and nothing else", async () => {
  const named = (value: string) =>
    Object.fromEntries([["__proto__", value], ["OTHER", "x"]]);
  const { servers, notes, diagnostics } = await imported({
    a: { url: "https://a.example.com/mcp", headers: named("one") },
    b: { command: "npx", env: named("two") },
  }, { A_OTHER: "a", B_OTHER: "b" });

  assert.deepEqual(diagnostics, []);
  assert.deepEqual(servers, [
    {
      name: "a",
      url: "https://a.example.com/mcp",
      headers: { OTHER: "${A_OTHER}" },
    },
    { name: "b", stdio: { command: "npx", env: { OTHER: "${B_OTHER}" } } },
  ]);
  assert.match(notes.join("\n"), /headers\.__proto__: a configuration cannot/);
  assert.match(notes.join("\n"), /env\.__proto__: expected a variable/);
});

Deno.test("import never gives two secrets one variable, and keeps references", async () => {
  const url = "https://a.example.com/mcp";
  const { servers, notes, diagnostics } = await imported({
    "a-b": {
      url,
      headers: { c: "one", authorization: "Bearer ${input:key-1}" },
    },
    a: { serverUrl: url, headers: { "b-c": "two", d: "${A:-three}" } },
    "A": { httpUrl: "https://me:four@a.example.com/mcp" },
  }, { A_B_C: "a", A_B_C_2: "b", A_D: "c", key_1: "d" });

  assert.deepEqual(diagnostics, []);
  assert.deepEqual(servers, [
    {
      name: "a-b",
      url,
      headers: { c: "${A_B_C}" },
      credentials: { fromEnv: "key_1" },
    },
    { name: "a", url, headers: { "b-c": "${A_B_C_2}", d: "${A_D}" } },
    { name: "A-2", url },
  ]);
  assert.equal(notes.length, 5);
  assert.match(notes.join(), /url: user and password are left out/);
});

Deno.test("import of servers that all have no counterpart is a route that responds with 503", async () => {
  const { route, notes } = await imported({
    files: { command: "npx", disabled: true },
    none: {},
    file: { url: "file:///etc/passwd" },
  });

  assert.deepEqual(route.policies, {
    directResponse: { status: 503, body: "not imported: mcpServers" },
  });
  assert.equal(notes.length, 3);
});

Deno.test("import converts the servers of VS Code, whose inputs become variables", async () => {
  const source = JSON.stringify({
    servers: {
      files: { type: "stdio", command: "files", env: { KEY: "${input:key}" } },
    },
    inputs: [{ type: "promptString", id: "key", password: true }],
  });

  const { text, notes } = await importText("mcp.json", source);

  assert.match(text, /command: files\n +env:\n +KEY: \${key}\n/);
  assert.deepEqual(notes, []);
});
