import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { freePort } from "../../harness/process/free_port.ts";

/** Runs a gateway that cannot start; returns the first line of each problem, without the name of the file. */
async function problemsOf(text: string): Promise<readonly string[]> {
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  try {
    await Deno.writeTextFile(file, text);
    const { code, stderr } = await gatewayCommand({ args: ["-f", file] })
      .output();
    assert.equal(code, 1);
    return new TextDecoder().decode(stderr).split("\n").filter((line) =>
      line.startsWith(file)
    ).map((line) => line.slice(file.length));
  } finally {
    await Deno.remove(file);
  }
}

function assertAll(
  problems: readonly string[],
  expected: readonly RegExp[],
): void {
  assert.equal(problems.length, expected.length, problems.join("\n"));
  for (const [index, pattern] of expected.entries()) {
    assert.match(problems[index] ?? "", pattern);
  }
}

Deno.test("errors of the schema, references, expressions, secrets, files and ports are reported at once", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  using admin = Deno.listen({ hostname: "127.0.0.1", port: 0 });

  const problems = await problemsOf(`config:
  adminAddr: 127.0.0.1:${admin.addr.port}
  statsAddr: "off"
gateways: { default: { port: ${taken.addr.port}, address: 127.0.0.1 } }
backends:
- { name: ai, llm: { provider: OpenAI, credentials: { fromEnv: NO_SUCH_VARIABLE } } }
routes:
- name: schema
  gateways: [nowhere]
  backends: [{ backend: ghost }]
  hostname: example.com
- name: inline
  hostname: example.com
  backends: [{ llm: { provider: OpenAI, credentials: { file: /no/such/file } } }]
- name: expression
  matches: [{ path: { type: PathPrefix, value: /e } }]
  backends: [{ backend: ai }]
  policies:
    authorization: { policy: { matchExpressions: ["request.metod == 'GET'"] } }
`);

  assertAll(problems, [
    /^:2:14: error: config\.adminAddr: .* in use by another process\. Set another address, or "off"$/,
    /^:4:30: error: gateways\.default\.port: .* address already in use; stop the other program or select another port/,
    /^:6:64: error: backends\[0\].*"NO_SUCH_VARIABLE" is not set; set it$/,
    /^:9:14: error: routes\[0\]\.gateways\[0\]: gateway "nowhere" does not exist/,
    /^:10:25: error: routes\[0\]\.backends\[0\]\.backend: backend "ghost" does not exist/,
    /^:11:3: error: routes\[0\]\.hostname: unknown field; did you mean "hostnames"\?/,
    /^:13:3: error: routes\[1\]\.hostname: unknown field/,
    /^:14:62: error: routes\[1\]\.backends\[0\]\..*no such file/,
    /^:19:60: error: .*unknown field of request "metod"/,
  ]);
});

Deno.test("every port that another program uses is reported, with workers too", async () => {
  using first = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  using second = Deno.listen({ hostname: "127.0.0.1", port: 0 });

  for (const workers of [1, 2]) {
    const problems = await problemsOf(`config:
  adminAddr: 127.0.0.1:${freePort()}
  statsAddr: "off"
  workers: ${workers}
gateways:
  one: { port: ${first.addr.port}, address: 127.0.0.1 }
  two: { port: ${second.addr.port}, address: 127.0.0.1 }
routes: [{ name: r, policies: { directResponse: { status: 200 } } }]
`);

    assertAll(problems, [
      /^:6:16: error: .*address already in use; stop the other program or select another port \(gateway "one"\)$/,
      /^:7:16: error: .*address already in use; stop the other program or select another port \(gateway "two"\)$/,
    ]);
  }
});

Deno.test("both addresses of the process are reported", async () => {
  using admin = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  using stats = Deno.listen({ hostname: "127.0.0.1", port: 0 });

  const problems = await problemsOf(`config:
  adminAddr: 127.0.0.1:${admin.addr.port}
  statsAddr: 127.0.0.1:${stats.addr.port}
gateways: { default: { port: ${freePort()}, address: 127.0.0.1 } }
routes: [{ name: r, policies: { directResponse: { status: 200 } } }]
`);

  assertAll(problems, [
    /^:2:14: error: config\.adminAddr: .*in use by another process\. Set another address, or "off"$/,
    /^:3:14: error: config\.statsAddr: .*in use by another process\. Set another address, or "off"$/,
  ]);
});

Deno.test("a variable of a backend that is not set is one problem", async () => {
  const problems = await problemsOf(`config:
  adminAddr: 127.0.0.1:${freePort()}
  statsAddr: "off"
gateways: { default: { port: ${freePort()}, address: 127.0.0.1 } }
routes:
- name: chat
  backends: [{ llm: { provider: OpenAI, credentials: { fromEnv: NO_SUCH_VARIABLE } } }]
`);

  assertAll(problems, [
    /^:7:65: error: .*environment variable "NO_SUCH_VARIABLE" is not set; set it$/,
  ]);
});

Deno.test("servers of the same name, their variables and the folder of the store are reported beside other errors", async () => {
  const problems = await problemsOf(`config:
  adminAddr: "off"
  statsAddr: "off"
  kv: { path: /no/such/folder/keys.db }
gateways: { default: { port: ${freePort()}, address: 127.0.0.1 } }
routes:
- name: tools
  hostname: example.com
  backends:
  - mcp:
      servers:
      - { name: a, url: "http://a.test/mcp", credentials: { fromEnv: NO_SUCH_A } }
      - { name: a, url: "http://b.test/mcp", credentials: { fromEnv: NO_SUCH_B }, pth: 1 }
      - { name: c, openapi: { file: api.yaml } }
- name: variable
  hostnames: ["\${NO_SUCH_HOST}"]
  backends: [{ host: "127.0.0.1:1" }]
`);

  assertAll(problems, [
    /^:4:15: warning: config\.kv\.path: The store cannot be opened: folder "\/no\/such\/folder" does not exist; create it$/,
    /^:8:3: error: routes\[0\]\.hostname: unknown field/,
    /^:12:\d+: error: .*"NO_SUCH_A" is not set; set it$/,
    /^:13:\d+: error: .*servers\[1\]\.name: server name "a" appears twice$/,
    /^:13:\d+: error: .*"NO_SUCH_B" is not set; set it$/,
    /^:13:\d+: error: .*servers\[1\]\.pth: unknown field/,
    /^:14:\d+: error: .*baseUrl: required field is missing; write the URL .*`servers` are not used, since/,
    /^:16:\d+: error: .*"NO_SUCH_HOST" is not set/,
  ]);
});

Deno.test("the valid parts of invalid items are checked too", async () => {
  const problems = await problemsOf(`config:
  adminAddr: 127.0.0.1:${freePort()}
  statsAddr: "off"
  colour: red
gateways: { default: { port: ${freePort()}, address: 127.0.0.1 } }
backends:
- { name: ai, llm: { provider: OpenAI, credentials: { fromEnv: NO_SUCH_A } }, timeot: 3 }
- name: tools
  mcp: { servers: [{ name: a, url: "http://a.test/mcp", pth: 1, credentials: { fromEnv: NO_SUCH_B } }] }
routes:
- name: keys
  backends: [{ backend: ai }]
  policies:
    apiKeyAuthentication: { stored: true }
    rateLimit: { foo: 1 }
- name: match
  matches: [{ path: { type: RegularExpression, value: "(a" }, methd: GET }]
  backends: [{ backend: ai }]
- name: rules
  backends: [{ backend: ai }]
  policies:
    authorization: { policy: { matchExpressions: ['jwt.sub == "a"'] } }
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: resource }
spec:
  parentRefs: [{ name: default }]
  rules:
  - matches: [{ path: { type: RegularExpression, value: "(b" } }]
    bakends: []
`);

  assertAll(problems, [
    /^:4:3: error: config\.colour: unknown field/,
    /^:7:64: error: backends\[0\].*"NO_SUCH_A" is not set; set it$/,
    /^:7:79: error: backends\[0\]\.timeot: unknown field; did you mean "timeouts"\?/,
    /^:9:57: error: backends\[1\]\.mcp\.servers\[0\]\.pth: unknown field/,
    /^:9:89: error: backends\[1\].*"NO_SUCH_B" is not set; set it$/,
    /^:14:37: error: .*Cannot accept stored keys: "config\.kv" is not set/,
    /^:15:18: error: routes\[0\]\.policies\.rateLimit\.foo: unknown field/,
    /^:17:55: error: .*invalid regular expression/,
    /^:17:63: error: routes\[1\]\.matches\[0\]\.methd: unknown field; did you mean "method"\?/,
    /^:22:51: warning: .*No policy sets "jwt" here: add "jwtAuthentication"/,
    /^:30:57: error: spec\.rules\[0\]\.matches\[0\]\.path\.value: invalid regular expression/,
    /^:31:5: error: spec\.rules\[0\]\.bakends: unknown field/,
  ]);
});

Deno.test("no error is only the consequence of another", async () => {
  const problems = await problemsOf(`config:
  adminAddr: 127.0.0.1:${freePort()}
  statsAddr: "off"
  kv: { redis: 3 }
gateways: { default: { port: ${freePort()}, address: 127.0.0.1 } }
backends:
- { name: authorizer, static: { host: a.test } }
- { name: ai, llm: { provider: OpenAI, credentials: { fromEnv: "<redacted 1>" } } }
routes:
- name: keys
  backends: [{ backend: ai }]
  policies:
    apiKeyAuthentication: { stored: true }
    extAuthz: { grpc: { backendRef: { name: authorizer } } }
- name: rules
  backends: [{ backend: ai }]
  policies:
    jwtAuthentcation: {}
    authorization: { policy: { matchExpressions: ['jwt.sub == "a"'] } }
`);

  assertAll(problems, [
    /^:4:16: error: config\.kv\.redis: /,
    /^:7:23: error: backends\[0\]\.static\.port: required field is missing/,
    /^:8:64: error: backends\[1\]\.llm\.credentials\.fromEnv: "<redacted 1>" is not a value/,
    /^:18:5: error: routes\[1\]\.policies\.jwtAuthentcation: unknown field; did you mean "jwtAuthentication"\?/,
  ]);
});

Deno.test("what a file declares that cannot be read is not missing", async () => {
  const problems = await problemsOf(`backends:
- { name: ai }
  - [
---
gateways: { default: { port: ${freePort()} } }
routes: [{ backends: [{ backend: ai }], colour: red }]
`);

  assertAll(problems, [
    /^:3:3: error: invalid YAML/,
    /^:6:41: error: .*colour/,
  ]);
});
