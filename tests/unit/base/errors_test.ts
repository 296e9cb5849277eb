import assert from "node:assert/strict";
import { describeError } from "../../../src/base/errors.ts";

/** Returns the error of an action. */
async function errorOf(action: () => unknown): Promise<unknown> {
  try {
    await action();
  } catch (error) {
    return error;
  }
  throw new Error("Expected an error");
}

const loopback = { hostname: "127.0.0.1", port: 0 };

for (
  const { what, action, text } of [
    {
      what: "a missing file",
      action: () => Deno.readTextFile("/missing"),
      text: "no such file or directory",
    },
    {
      what: "a directory that is read",
      action: () => Deno.readTextFileSync("/"),
      text: "is a directory",
    },
    {
      what: "a file that is renamed",
      action: () => Deno.rename("/missing", "/other"),
      text: "no such file or directory",
    },
    {
      what: "a port that nobody serves",
      action: async () => {
        const listener = Deno.listen(loopback);
        listener.close();
        const { port } = listener.addr;
        using _connection = await Deno.connect({ ...loopback, port });
      },
      text: "connection refused",
    },
    {
      what: "a port in use",
      action: () => {
        using taken = Deno.listen(loopback);
        const { port } = taken.addr;
        using _second = Deno.listen({ ...loopback, port });
      },
      text: "address already in use",
    },
  ]
) {
  Deno.test(`describeError words ${what} without numbers and calls`, async () => {
    const error = await errorOf(action);

    assert.equal(describeError(error), text);
  });
}

Deno.test("describeError adds the cause of an error", async () => {
  const cause = await errorOf(() => Deno.readTextFile("/missing"));

  assert.equal(
    describeError(new Error("Cannot start", { cause })),
    "Cannot start: no such file or directory",
  );
  assert.equal(describeError("text"), "text");
});
