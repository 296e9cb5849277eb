import assert from "node:assert/strict";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parseAllDocuments } from "yaml";
import { fileSchema, withReferences } from "../../../src/config/file_schema.ts";

const ajv = new Ajv2020({ strict: false, validateFormats: false });
const schema = await fileSchema(schemasOf());
const validate = ajv.compile(schema);
const validateAsEditor = ajv.compile(withReferences(schema));

const folders = ["../../../examples/", "../../fixtures/config/good/"];

for (const folder of folders.map((path) => new URL(path, import.meta.url))) {
  for (const { name } of Deno.readDirSync(folder)) {
    if (!name.endsWith(".yaml")) continue;
    const written = Deno.readTextFileSync(new URL(name, folder));
    const text = written
      .replace(/\$\{[A-Z_]+:-([^}]*)\}/g, "$1")
      .replaceAll("${PORT}", "3000")
      .replaceAll("${NAME}", "tools");

    Deno.test(`fileSchema accepts ${name}`, () => {
      for (const document of parseAllDocuments(text, { merge: true })) {
        const value: unknown = document.toJS();
        if (isList(value)) continue;
        assert.ok(validate(value), JSON.stringify(validate.errors, null, 2));
      }
    });

    Deno.test(`editors accept ${name} as it is written`, () => {
      for (const document of parseAllDocuments(written, { merge: true })) {
        const value: unknown = document.toJS();
        if (isList(value)) continue;
        assert.ok(
          validateAsEditor(value),
          JSON.stringify(validateAsEditor.errors, null, 2),
        );
      }
    });
  }
}

for (
  const [name, value] of Object.entries({
    "an unknown section": { route: [] },
    "an unknown field": { gateways: { a: { port: 1, prot: 2 } } },
    "a port that is too large": { gateways: { a: { port: 70_000 } } },
    "an unknown kind": { apiVersion: "v1", kind: "Pod" },
    "a route without name": {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: {},
      spec: {},
    },
  })
) {
  Deno.test(`fileSchema rejects ${name}`, () => {
    assert.equal(validate(value), false);
  });
}

for (const reference of ["${PORT}", "${PORT:-3000}"]) {
  Deno.test(`editors accept ${reference} in place of numbers, durations and names`, () => {
    const value = {
      gateways: { a: { port: reference } },
      config: { drainTimeout: reference, workers: reference },
      routes: [{
        name: reference,
        matches: [{ path: { type: reference, value: reference } }],
        backends: [{ host: reference, weight: reference }],
        timeouts: { request: reference },
      }],
    };

    assert.equal(validate(value), false);
    assert(
      validateAsEditor(value),
      JSON.stringify(validateAsEditor.errors, null, 2),
    );
  });
}

Deno.test("editors still reject other text in place of a number", () => {
  assert.equal(validateAsEditor({ gateways: { a: { port: "PORT" } } }), false);
  assert.equal(validateAsEditor({ gateways: { a: { port: 70_000 } } }), false);
});

function isList(value: unknown): boolean {
  return typeof value === "object" && value !== null &&
    Reflect.get(value, "kind") === "List";
}
