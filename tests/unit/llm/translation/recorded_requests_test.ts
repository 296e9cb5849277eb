import assert from "node:assert/strict";
import { translate } from "../../../../src/llm/translation/translation.ts";
import {
  isServed,
  recordedModels,
  recordedRequests,
} from "../../../harness/llm/recorded_requests.ts";

/** Parts of errors that name what changes the meaning of a request: tools that the provider runs, files that it keeps, sound, other models. */
const meanings = new RegExp(
  [
    ...[/type: (?!function)[\w:]+"/, /file_id/, /mcp_servers/, /container/],
    ...[/web_search_options/, /search_settings/, /moderation/, /preset/],
    ...[/"models"/, /source\.type/, /at a URL/, /no data: URL/],
    ...[/previous_response_id/, /conversation/, /background/, /tool_choice/],
    ...[/format with tools/, /responseMimeType with tools/, /"provider"/],
    ...[/input\[\d+\]\.id/, /"tools\[\d+\]\.\w+"/, /mimeType: /, /fileUri/],
    ...[/[lL]ogprobs/, /responseModalities/, /imageConfig/, /speechConfig/],
    ...[/cachedContent/, /modelArmorConfig/, /safetySettings/],
    /parts\[\d+\]\.(?:videoMetadata|executableCode|codeExecutionResult|tool\w+)/,
  ].map(({ source }) => source).join("|"),
);

Deno.test(`of ${recordedRequests.length} recorded requests, none is rejected for a hint`, () => {
  const rejected: string[] = [];
  for (const { operation, body } of recordedRequests) {
    for (const [target, model] of recordedModels) {
      if (isServed(target, operation)) continue;
      const options = { target, model, id: "r1", now: 0 };
      try {
        translate(operation, body, { ...options, unsupported: "Drop" });
      } catch (error) {
        assert(error instanceof Error);
        if (!meanings.test(error.message)) {
          rejected.push(`${operation.name} → ${model}: ${error.message}`);
        }
      }
    }
  }

  assert.deepEqual(rejected, []);
});
