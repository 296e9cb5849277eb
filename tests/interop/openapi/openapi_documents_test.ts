/** OpenAPI documents: every argument of a tool arrives where the document wants it. */
import assert from "node:assert/strict";
import { checkDocument } from "../../harness/openapi/document_check.ts";
import { EchoApi } from "../../harness/openapi/echo_api.ts";
import { type DocumentRow, openapiReport } from "./openapi_report.ts";

const page = new URL("../../../docs/conformance/openapi.md", import.meta.url);
const fixtures = new URL("../../fixtures/openapi/", import.meta.url);
/** Folder of public documents, which `make interop-openapi` names. */
const folder = Deno.env.get("OPENAPI_DOCUMENTS");
const MAX_CALLS = 200;

async function checkFolder(folder: string | URL): Promise<DocumentRow[]> {
  await using api = await EchoApi.start();
  const rows: DocumentRow[] = [];
  const entries = await Array.fromAsync(Deno.readDir(folder));
  const names = entries.map(({ name }) => name)
    .filter((name) => /\.(?:json|ya?ml)$/.test(name)).sort();
  for (const name of names) {
    const path = folder instanceof URL
      ? new URL(name, folder)
      : `${folder}/${name}`;
    const text = await Deno.readTextFile(path);
    rows.push({ name, ...await checkDocument(text, api, MAX_CALLS) });
  }
  return rows;
}

function faultsOf(rows: readonly DocumentRow[]): readonly string[] {
  return rows.flatMap(({ name, faults }) =>
    faults.map((fault) => `${name}: ${fault}`)
  );
}

Deno.test("each argument of a tool arrives where the OpenAPI document wants it, and what has no tool has a reason", async () => {
  const rows = await checkFolder(fixtures);

  assert.deepEqual(faultsOf(rows), []);
  assert.deepEqual(
    rows.map(({ name, version, operations, tools, calls, refused }) =>
      [name, version, operations, tools, calls, refused] as const
    ),
    [
      ["forms_3_0.yaml", "3.0.3", 4, 4, 4, {}],
      ["library_3_1.yaml", "3.1.0", 7, 4, 4, {
        OPTIONS: 1,
        "is in another document; bundle the documents first": 1,
        'the path has "{id}", but no such parameter': 1,
      }],
      ["orders_2_0.json", "2.0", 4, 4, 4, {}],
    ],
  );
});

if (folder !== undefined) {
  Deno.test("public OpenAPI documents are converted, and calls carry every argument", async () => {
    const rows = await checkFolder(folder);

    assert(rows.length > 0, `no documents in ${folder}`);
    assert.deepEqual(faultsOf(rows), []);
    if (Deno.env.get("GOLDEN") === "update") {
      await Deno.writeTextFile(page, openapiReport(rows));
    }
  });
}
