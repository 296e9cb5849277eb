import assert from "node:assert/strict";
import { fileSource } from "../../../../src/config/configuration_source.ts";
import { validateConfiguration } from "../../../../src/gateway/candidate/candidate.ts";

const ok = { 200: { description: "ok" } };

/** Returns what `gateway validate` says about a document beside its configuration. */
async function validate(document: string, options = ""): Promise<string> {
  const folder = await Deno.makeTempDir();
  const config = `
gateways: { default: { port: 3000 } }
routes:
  - name: mcp
    backends:
      - mcp:
          servers:
            - name: pets
              openapi: { file: pets.json, baseUrl: "http://127.0.0.1:9/"${options} }
            - name: web
              openapi: { url: "http://127.0.0.1:9/a.json", baseUrl: "http://127.0.0.1:9/" }
`;
  try {
    await Deno.writeTextFile(`${folder}/pets.json`, document);
    await Deno.writeTextFile(`${folder}/gateway.yaml`, config);
    const source = fileSource(`${folder}/gateway.yaml`);
    return (await validateConfiguration(source, {})).text
      .replaceAll(`${folder}/`, "");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("validation names the parts of an OpenAPI document that cannot become tools", async () => {
  const text = await validate(JSON.stringify({
    openapi: "3.1.0",
    paths: {
      "/pets/{id}": { get: { operationId: "getPet", responses: ok } },
      "/pets": { get: { operationId: "listPets", responses: ok } },
    },
  }));

  assert.match(
    text,
    /^gateway\.yaml:9:32: warning: .*pets\.json#\/paths\/~1pets~1\{id\}\/get: the path has "\{id\}", but no such parameter/,
  );
  assert.equal(text.match(/warning|error/g)?.length, 1);
});

Deno.test("a document that cannot be used is an error of the configuration, with the line", async () => {
  const broken = await validate('{ "openapi": "3.1.0"\n  "paths": {} }');
  assert.match(
    broken,
    /error: .*Cannot use the OpenAPI document pets\.json: it is not valid JSON: .* line \d/,
  );
  const old = await validate('{ "openapi": "1.2" }');
  assert.match(old, /error: .*"openapi" is missing or not supported/);
});

Deno.test("a selection without operations is a warning", async () => {
  const paths = { "/pets": { get: { operationId: "listPets" } } };
  const document = JSON.stringify({ openapi: "3.1.0", paths });
  assert.equal(await validate(document), "");
  assert.match(
    await validate(document, ", include: [getPet]"),
    /warning: .*pets\.json: no operation becomes a tool; check "include"/,
  );
});
