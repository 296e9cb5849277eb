import assert from "node:assert/strict";
import { backend, compileAll, decode, diagnosticLines } from "../resources.ts";

function endpoint(name: string, server: object) {
  const mcp = { servers: [{ name: "one", ...server }] };
  return decode("GatewayBackend", { name }, { mcp });
}

const host = { static: { host: "tools.example", port: 8443 } };

Deno.test("a backend that is a server is the same for all that use it", () => {
  const compiled = compileAll({
    gatewayBackends: [
      endpoint("a", { backend: { name: "tools" } }),
      endpoint("b", { backend: { name: "tools", path: "/other" } }),
      backend("tools", host),
    ],
  });
  const { snapshot } = compiled;
  assert.deepEqual(diagnosticLines(compiled), []);
  const tools = snapshot.backends.get("default/tools");
  const transports = ["a", "b"].map((name) =>
    snapshot.backends.get(`default/${name}`)?.mcp?.servers[0]?.transport
  );
  assert.deepEqual(
    transports,
    ["/mcp", "/other"].map((path) => ({
      kind: "http",
      address: { authority: "tools.example:8443", path, headers: [] },
      backend: tools,
    })),
  );
});

for (
  const [server, problem] of [
    [{ backend: { name: "tool" } }, 'backend "tool" does not exist'],
    [{ backend: { name: "chat" } }, 'backend "chat" has no host'],
    [{ backend: { name: "a" } }, 'backend "a" has no host'],
    [{ backend: { name: "tools" }, tls: {} }, 'set "tls" of the backend'],
  ] as const
) {
  Deno.test(`a server that is ${JSON.stringify(server)} is an error: ${problem}`, () => {
    const compiled = compileAll({
      gatewayBackends: [
        endpoint("a", server),
        backend("tools", host),
        decode("GatewayBackend", { name: "chat" }, {
          llm: { provider: "OpenAI" },
        }),
      ],
    });
    const [line = "", ...others] = diagnosticLines(compiled);
    assert.ok(line.includes(problem), line);
    assert.deepEqual(others, []);
    assert.equal(compiled.snapshot.backends.get("default/a"), undefined);
  });
}
