import assert from "node:assert/strict";
import {
  isBatchControl,
  isBatchCreation,
  readStoredOutput,
} from "../../../../src/llm/batch/stored_output.ts";

const outputs: readonly (readonly [string, string | undefined])[] = [
  ["/v1/responses/resp_1?stream=true", "response resp_1"],
  ["/v1/responses//resp_1", "response resp_1"],
  ["/v1/responses/resp_1/input_items", undefined],
  ["/v1/batches/batch_1", "batch batch_1"],
  ["/openai/v1/batches/batch_1/?api-version=1", "batch batch_1"],
  ["/v1/batches/batch_1;a=b", "batch batch_1"],
  ["/v1beta/batches/1", "batch 1"],
  ["/v1/batches?limit=2", "batches "],
  ["/v1/batch/jobs/1?inline=true", "batch 1"],
  ["/v1/files/file-1/content", "results file-1"],
  ["/V1/Files/file-1/Content/", "results file-1"],
  ["/v1/files//file-1//content;a", "results file-1"],
  ["/v1/files/file-1", undefined],
  ["/v1beta/files/batch-1:download?alt=media", "results batch-1"],
  ["/v1beta/files/batch-1%3Adownload?alt=media", "results batch-1"],
  ["/v1/messages/batches/msgbatch_1/results", "results msgbatch_1"],
  ["/v1/messages/batches/msgbatch_1", "batch msgbatch_1"],
  ["/search?q=/files/file-1/content", undefined],
];

for (const [path, expected] of outputs) {
  Deno.test(`GET ${path} reads ${expected ?? "no output"}`, () => {
    const found = readStoredOutput("GET", path);
    assert.equal(found && `${found.kind} ${found.id}`, expected);
    assert.equal(readStoredOutput("POST", path), undefined);
  });
}

const controls: readonly (readonly [string, boolean, boolean])[] = [
  ["/v1/files", false, true],
  ["/v1/batches", true, true],
  ["/v1/batches/;a?b", true, true],
  ["/v1/messages/batches?beta=true", true, true],
  ["/v1/batch/jobs", true, true],
  ["/v1beta/models/gemini:batchGenerateContent", true, true],
  ["/v1beta/models/gemini%3AbatchGenerateContent", true, true],
  ["/v1/batches/b_1/cancel", false, true],
  ["/v1/batch/jobs/1/cancel", false, true],
  ["/v1beta/models/gemini:generateContent", false, false],
  ["/v1/chat/completions?a=/v1/batches", false, false],
];

for (const [path, creates, controlled] of controls) {
  Deno.test(`POST ${path}: creates a batch ${creates}, controls batches ${controlled}`, () => {
    assert.equal(isBatchCreation("POST", path), creates);
    assert.equal(isBatchControl("POST", path), controlled);
    assert.equal(isBatchControl("GET", path), false);
  });
}
