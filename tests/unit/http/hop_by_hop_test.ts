import assert from "node:assert/strict";
import { HeaderList } from "../../../src/http/header_list.ts";
import { takeConnectionFields } from "../../../src/http/hop_by_hop.ts";

Deno.test("takeConnectionFields keeps a message without hop-by-hop fields", () => {
  const headers = HeaderList.from([["Accept", "a"], ["X-Trailing", "b"]]);

  const fields = takeConnectionFields(headers);

  assert.equal(
    fields.close || fields.keepAlive || fields.acceptsTrailers,
    false,
  );
  assert.deepEqual([...headers], [["Accept", "a"], ["X-Trailing", "b"]]);
});

Deno.test("takeConnectionFields reads and removes", async (t) => {
  const cases: readonly {
    name: string;
    fields: [string, string][];
    left: [string, string][];
    said: Record<string, unknown>;
  }[] = [
    {
      name: "close",
      fields: [["connection", "Close"]],
      left: [],
      said: { close: true },
    },
    {
      name: "keep-alive",
      fields: [["Connection", "Keep-Alive"], ["Keep-Alive", "timeout=5"]],
      left: [],
      said: { keepAlive: true },
    },
    {
      name: "trailers",
      fields: [["TE", "gzip, Trailers"]],
      left: [],
      said: { acceptsTrailers: true },
    },
    {
      name: "upgrade",
      fields: [["Connection", "x, upgrade"], ["Upgrade", "WebSocket"]],
      left: [],
      said: { upgrade: "WebSocket" },
    },
    {
      name: "upgrade without Connection",
      fields: [["Upgrade", "websocket"]],
      left: [],
      said: { upgrade: undefined },
    },
    {
      name: "framing",
      fields: [["Transfer-Encoding", "chunked"], ["Proxy-Connection", "close"]],
      left: [],
      said: { close: false },
    },
    {
      name: "named fields",
      fields: [["X-A", "1"], ["Connection", ",X-a ,, X-B"], ["X-B", "2"], [
        "X-C",
        "3",
      ]],
      left: [["X-C", "3"]],
      said: {},
    },
    {
      name: "named end-to-end fields",
      fields: [
        ["Connection", "Content-Length, Mcp-Session-Id, Set-Cookie"],
        ["Content-Length", "1"],
        ["Mcp-Session-Id", "s"],
        ["Set-Cookie", "c"],
      ],
      left: [["Content-Length", "1"], ["Mcp-Session-Id", "s"], [
        "Set-Cookie",
        "c",
      ]],
      said: {},
    },
  ];
  for (const { name, fields, left, said } of cases) {
    await t.step(name, () => {
      const headers = HeaderList.from(fields);
      const taken = takeConnectionFields(headers);
      assert.deepEqual([...headers], left);
      assert.deepEqual({ ...taken, ...said }, { ...taken });
    });
  }
});
