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
