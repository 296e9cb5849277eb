import { rejects, strictEqual } from "node:assert/strict";
import { type Body, textBody } from "../../../../src/http/body.ts";
import { mirrorBody } from "../../../../src/proxy/body/mirrored_body.ts";

async function textOf(body: Body): Promise<string> {
  let text = "";
  for (let chunk = await body.read(); chunk; chunk = await body.read()) {
    text += new TextDecoder().decode(chunk);
  }
  return text;
}

Deno.test("mirrorBody gives both readers the whole body", async () => {
  const { original, copy } = mirrorBody(textBody("hello"));

  const [first, second] = await Promise.all([textOf(original), textOf(copy)]);

  strictEqual(first, "hello");
  strictEqual(second, "hello");
});

Deno.test("mirrorBody fails a copy that is more than 1 MiB behind, not the original", async () => {
  const large: Body = {
    length: 2 * 1024 * 1024,
    trailers: undefined,
    read: () => chunks.shift(),
    cancel() {},
  };
  const chunks = [new Uint8Array(1024 * 1024), new Uint8Array(1024 * 1024)];
  const { original, copy } = mirrorBody(large);

  await original.read();
  await original.read();

  strictEqual(await original.read(), undefined);
  await rejects(
    async () => await copy.read(),
    /more than 1048576 bytes behind/,
  );
});

Deno.test("mirrorBody fails the copy when the original fails", async () => {
  const failing: Body = {
    length: undefined,
    trailers: undefined,
    read: () => Promise.reject(new Error("client gone")),
    cancel() {},
  };
  const { original, copy } = mirrorBody(failing);

  await rejects(async () => await original.read(), /client gone/);
  await rejects(async () => await copy.read(), /client gone/);
});
