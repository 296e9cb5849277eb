import assert from "node:assert/strict";
import {
  ApiError,
  KubernetesApi,
} from "../../../../src/cluster/client/kubernetes_api.ts";
import { failure, FakeApiServer } from "./fake_api_server.ts";

Deno.test("server-side apply names its manager and takes over fields", async () => {
  await using server = new FakeApiServer(() => ({ ok: true }));
  await server.api.apply("/api/v1/x/status", "a/b", { kind: "X" });
  const [call] = server.calls;
  assert.equal(call?.method, "PATCH");
  assert.equal(call?.query.get("fieldManager"), "a/b");
  assert.equal(call?.query.get("force"), "true");
  assert.deepEqual(call?.body, { kind: "X" });
});

Deno.test("an error has the code, the reason and a message without the token", async () => {
  await using server = new FakeApiServer(() => failure(409, "Conflict"));
  await assert.rejects(server.api.request({ path: "/x" }), (error) => {
    assert(error instanceof ApiError);
    assert.equal(error.code, 409);
    assert.equal(error.reason, "Conflict");
    assert.doesNotMatch(String(error), /secret-token/);
    return true;
  });
});

Deno.test("a response that takes too long is an error that says so", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using server = new FakeApiServer(() =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await promise;
          controller.close();
        },
      }),
    )
  );
  await assert.rejects(
    server.api.request({ path: "/x", timeoutMs: 20 }),
    /did not respond within 20 ms/,
  );
  resolve();
});

Deno.test("redirects are not followed: they could take the token elsewhere", async () => {
  await using server = new FakeApiServer(({ path }) =>
    path === "/x"
      ? new Response(null, { status: 302, headers: { location: "/y" } })
      : {}
  );
  await assert.rejects(server.api.request({ path: "/x" }), TypeError);
  assert.deepEqual(server.calls.map(({ path }) => path), ["/x"]);
});

Deno.test("a token that was rejected is forgotten", async () => {
  await using server = new FakeApiServer(() => failure(401, "Unauthorized"));
  let token = "old";
  using api = new KubernetesApi({
    ...server.api.access,
    token: () => Promise.resolve(token),
    forgetToken: () => token = "new",
  });
  await assert.rejects(api.request({ path: "/x" }), /401/);
  assert.equal(token, "new");
});
