import assert from "node:assert/strict";
import type { SchemaPart } from "../../../admin/ui/page/kit/schema_parts.ts";
import {
  completionsAt,
  type EditorLanguage,
  explanationAt,
} from "../../../admin/ui/page/kit/yaml_assist.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import { fileSchema } from "../../../src/config/file_schema.ts";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";

const schema: SchemaPart = await fileSchema(schemasOf());
assert(isJsonObject(schema.$defs));
const language: EditorLanguage = {
  schema,
  definitionOf: (text) => /^kind: *(\w+)/m.exec(text)?.[1] ?? "ShortForm",
  words: { "CEL expression": ["jwt", "request.path"] },
};

function complete(marked: string, isAsked = false) {
  const offset = marked.indexOf("|");
  return completionsAt(language, marked.replace("|", ""), offset, isAsked);
}

function labels(marked: string, isAsked = false): readonly string[] {
  return complete(marked, isAsked)?.options.map(({ label }) => label) ?? [];
}

Deno.test("keys of the short form are completed, with what they mean", () => {
  const found = complete("routes:\n  - name: a\n    pol|");

  const option = found?.options.find(({ label }) => label === "policies");
  assert.equal(option?.apply, "policies: ");
  assert.match(option?.info ?? "", /\w/);
  assert.equal(found?.from, "routes:\n  - name: a\n    ".length);
  assert(
    labels("routes:\n  - policies:\n      rateLimit:\n        l|")
      .includes("local"),
  );
});

Deno.test("values are completed where they are few", () => {
  const providers = labels(
    "routes:\n  - backends:\n      - llm: { provider: |",
  );

  assert(providers.includes("Anthropic"));
  assert.deepEqual(
    labels("routes:\n  - backends:\n      - llm:\n          plainText: t|"),
    ["true", "false"],
  );
});

Deno.test("variables are completed in expressions, after an operator too", () => {
  const found = complete(
    'routes:\n  - policies:\n      authorization:\n        policy:\n          matchExpressions:\n            - \'"a" in jw|',
  );

  assert(found?.options.some(({ label }) => label === "request.path"));
});

Deno.test("resources of Kubernetes have their own fields", () => {
  const text = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nsp|";

  assert(labels(text).includes("spec"));
  assert(!labels(text).includes("routes"));
});

Deno.test("nothing is offered unasked, and nothing where anything may stand", () => {
  assert.deepEqual(labels("|"), []);
  assert(labels("|", true).includes("gateways"));
  assert.deepEqual(labels("routes:\n  - name: a|"), []);
  assert.deepEqual(labels("unknown:\n  - a: b|"), []);
});

Deno.test("a key is explained with its values and its default", () => {
  const text = "routes:\n  - backends:\n      - llm:\n          unsupported";

  const explanation = explanationAt(language, text, text.length);

  assert.match(explanation, /One of Drop, Reject\.\nDefault: "Drop"\.$/);
  assert.equal(explanationAt(language, "routes", 6).includes("Routes"), true);
  assert.equal(explanationAt(language, "nothing", 7), "");
});
