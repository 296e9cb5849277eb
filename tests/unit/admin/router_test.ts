import assert from "node:assert/strict";
import { createRouter } from "../../../admin/http/router.ts";
import { createTestLog } from "./fake_target.ts";

Deno.test("router returns 500 for a failing handler and logs the error", async () => {
  const { log, lines } = createTestLog();
  const fail = () => Promise.reject(new Error("disk full"));
  const route = createRouter([{
    path: "/x",
    methods: { GET: fail },
  }], log);

  const response = await route(new Request("http://localhost/x?secret=1"));

  assert.equal(response.status, 500);
  assert.equal(await response.text(), "internal error: disk full\n");
  assert.match(
    lines.join(""),
    /\terror\tadmin\tCannot handle a request path=\/x error="disk full"\n$/,
  );
});

Deno.test("router handles HEAD like GET, without a body", async () => {
  const handler = () => new Response("text", { headers: { "x-kind": "a" } });
  const route = createRouter([{
    path: "/x",
    methods: { GET: handler },
  }], createTestLog().log);

  const response = await route(
    new Request("http://localhost/x", { method: "HEAD" }),
  );

  assert.equal(response.status, 200);
  assert.equal(response.headers.get("x-kind"), "a");
  assert.equal(response.headers.get("content-length"), "4");
  assert.equal(response.body, null);
});
