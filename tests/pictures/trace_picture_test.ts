import assert from "node:assert/strict";
import { readPicture, textOf } from "./saved_picture.ts";
import { drawTrace } from "./trace_picture.ts";

Deno.test("the picture of a trace shows what gwctl shows; make pictures takes it anew", async () => {
  const shown = await drawTrace();

  assert.equal(textOf(await readPicture("trace.svg")), textOf(shown));
  assert.doesNotMatch(shown, /eyJ/);
});
