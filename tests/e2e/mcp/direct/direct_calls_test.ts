/** Calls of tools pass as bytes where nothing in them has to change, and are handled as any other message where something has. */
import assert from "node:assert/strict";
import { messageOf, open } from "./direct_client.ts";
import { eras, PREFIX, spelled } from "./direct_server.ts";

for (const era of eras) {
  for (const form of ["json", "sse"] as const) {
    Deno.test(`${era} calls of a ${form} server pass as the bytes that they are`, async () => {
      await using client = await open(era, form);

      const text = await client.call("plain");

      const { json, id } = messageOf(text);
      assert.equal(id, 7);
      assert.ok(json.includes(`"content":${spelled}`), json);
      const sent = JSON.parse(client.bodies.at(-1) ?? "");
      assert.equal(sent.params.name, "plain");
    });

    Deno.test(`a long answer of a ${form} server is a stream that ${era} clients can resume, if they can`, async () => {
      await using client = await open(era, form);

      const text = await client.call("long");

      const { result } = messageOf(text);
      assert.equal(result.structuredContent.a.length, 2000);
      const isStream = /^id: 1-0\nretry: \d+\ndata: \n\nid: 1-1\nevent: /
        .test(text);
      assert.equal(isStream, era === "legacy", text.slice(0, 100));
    });

    Deno.test(`${era} calls of a ${form} server use a connection again after an answer of 100 KB`, async () => {
      await using client = await open(era, form);

      const { result } = messageOf(await client.call("wide"));
      await client.call("wide");
      await client.call("plain");

      assert.equal(result.content[0].text.length, 100_000);
      const [, ...ports] = client.ports;
      assert.equal(new Set(ports).size, 1, String(ports));
    });

    Deno.test(`${era} calls of a ${form} server change what clients must not see as it is`, async () => {
      await using client = await open(era, form);

      const meta = messageOf(await client.call("meta"));
      const link = messageOf(await client.call("link"));
      const escaped = messageOf(await client.call("escaped"));

      const info = era === "modern" ? [`${PREFIX}/serverInfo`] : [];
      assert.deepEqual(Object.keys(meta.result._meta), ["own", ...info]);
      assert.equal(meta.result._meta.own, 2);
      assert.ok(meta.json.includes(spelled), meta.json);
      assert.equal(link.result.content[0].uri, "a+file:///a");
      assert.equal(escaped.result.content[0].uri, "a+file:///a");
    });

    Deno.test(`${era} calls of a ${form} server do not pass on what is invalid`, async () => {
      await using client = await open(era, form);

      const twice = messageOf(await client.call("twice"));
      const broken = messageOf(await client.call("broken"));
      const failing = messageOf(await client.call("failing"));

      assert.deepEqual(twice.result.content, []);
      assert.equal(broken.result.isError, true);
      assert.match(broken.result.content[0].text, /MCP server "a" sent/);
      assert.equal(failing.result.isError, true);
      assert.ok(failing.json.includes(spelled), failing.json);
    });
  }
}

Deno.test("a modern client that leaves ends its call at the server", async () => {
  await using client = await open("modern", "json");
  const leaving = new AbortController();
  const call = client.call("hanging", leaving.signal);
  const id = await client.hung.began;

  leaving.abort();

  await assert.rejects(call);
  assert.equal(await client.hung.ended, id);
});

Deno.test("a legacy client that cancels ends its call at the server", async () => {
  await using client = await open("legacy", "json");
  const call = client.call("hanging");
  const id = await client.hung.began;

  await client.cancel();

  assert.equal(await client.hung.ended, id);
  assert.doesNotMatch(await call, /result/);
});
