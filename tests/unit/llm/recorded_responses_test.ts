import assert from "node:assert/strict";
import { bytesOf, everyByte, json, scan, sse } from "./llm_responses.ts";
import { detectLlmApi } from "../../../src/llm/llm_api.ts";

/** Recorded responses of real providers; they are not part of this repository. */
const directory = new URL("../../../../shared/vectors/llm/", import.meta.url);

interface RecordedResponse {
  readonly stream: boolean;
  readonly uri: string;
  readonly body: string;
  readonly expect: {
    readonly input: number;
    readonly output: number;
    readonly debit: number;
  };
}

const names = await list();

// The title reports how many ran: none where the recordings are not available.
Deno.test(`${names.length} recorded responses are found`, () => {
  assert(names.every((name) => name.endsWith(".json")));
});

for (const name of names) {
  Deno.test(`recorded response ${name} is charged as expected`, async () => {
    const recorded: RecordedResponse = JSON.parse(
      await Deno.readTextFile(new URL(name, directory)),
    );
    const { input, output, debit } = recorded.expect;
    const body = bytesOf(recorded.body);
    const contentType = recorded.stream ? sse : json;

    for (const api of [detectLlmApi("POST", recorded.uri), undefined]) {
      for (const pieces of [[body], everyByte(body)]) {
        const usage = scan(contentType, pieces, api);
        assert.equal(usage?.totalTokens, debit);
        assert.equal(usage.inputTokens, input);
        assert.equal(usage.outputTokens, output);
        assert.equal(usage.estimated, false);
      }
    }
    assert.notEqual(detectLlmApi("POST", recorded.uri), undefined);
  });
}

async function list(): Promise<string[]> {
  try {
    const entries = await Array.fromAsync(Deno.readDir(directory));
    return entries.map(({ name }) => name).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
