import assert from "node:assert/strict";
import { openTokenBudget } from "../../../harness/llm/token_budget.ts";
import { bytesOf, json, sse } from "../../../unit/llm/llm_responses.ts";

/** Recorded responses of real providers; they are not part of this repository. */
const directory = new URL(
  "../../../../../shared/vectors/llm/",
  import.meta.url,
);

const names = await list();

// The title reports how many ran: none where the recordings are not available.
Deno.test(`${names.length} recorded responses are charged as expected, and arrive unchanged`, async () => {
  for (const name of names) {
    const recorded = JSON.parse(
      await Deno.readTextFile(new URL(name, directory)),
    );
    const body = bytesOf(recorded.body);
    const contentType = recorded.stream ? sse : json;
    for (const coding of [undefined, "gzip"] as const) {
      await using limited = await openTokenBudget({
        contentType,
        body,
        ...(coding && { coding }),
      });

      const response = await fetch(limited.origin + recorded.uri, {
        method: "POST",
        headers: { "content-type": json },
        body: "{}",
      });

      const { debit } = recorded.expect;
      assert.deepEqual(
        new Uint8Array(await response.arrayBuffer()),
        body,
        name,
      );
      assert.equal(await limited.charged(debit), debit, name);
    }
  }
});

async function list(): Promise<string[]> {
  try {
    const entries = await Array.fromAsync(Deno.readDir(directory));
    return entries.map(({ name }) => name).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
