import assert from "node:assert/strict";
import { runEnvironment, runFlags } from "../../../.ci/pack.ts";
import { chartSchema } from "../../../.ci/chart_schema.ts";
import { manifestHeader, manifests } from "../../../.ci/render_chart.ts";
import { describeResourceDefinitions } from "../../../cli/schema/print_schema.ts";
import { toStructuralSchema } from "../../../src/cluster/manifests/structural_schema.ts";
import { readFile } from "../../rules/repository.ts";

Deno.test("deploy/crds.yaml is up to date; run make manifests", async () => {
  assert.equal(
    await readFile("deploy/crds.yaml"),
    await describeResourceDefinitions(),
  );
});

for (const path of Object.values(manifests)) {
  Deno.test(`${path} is rendered from the chart; run make chart`, async () => {
    const [header] = (await readFile(path)).split("\n");
    assert.equal(header, await manifestHeader());
  });
}

Deno.test("values of the chart have the settings of the gateway; run make manifests", async () => {
  const text = await readFile("deploy/helm/gateway/values.schema.json");
  assert.equal(text, await chartSchema());
});

Deno.test("the image runs the programs with the flags and the environment of the executable", async () => {
  const text = await readFile("deploy/Dockerfile");
  const [, entry = ""] = /^ENTRYPOINT (.*)$/m.exec(text) ?? [];
  assert.deepEqual(JSON.parse(entry), [
    "/bin/deno",
    "run",
    ...runFlags,
    "/app/main.js",
  ]);
  const flags = runFlags.join(" ");
  assert(text.includes(`deno run ${flags} /app/main.js validate -`));
  assert(text.includes(`deno run ${flags} /app/worker.js`));
  const environment = Object.entries(runEnvironment)
    .map((each) => each.join("=")).join(" ");
  assert(text.includes(` ${environment}\n`));
  const [, version] = /DENO_VERSION=(\S+)/.exec(text) ?? [];
  assert.match(
    await readFile(".ci/deno"),
    new RegExp(`^version=${version}$`, "m"),
  );
});

Deno.test("the bases of the image are named by their digests", async () => {
  const text = await readFile("deploy/Dockerfile");
  const digests = new Map<string, string | undefined>(
    [...text.matchAll(/^ARG (\S+)=(\S+)$/gm)].map(([, name, value]) =>
      [`\${${name}}`, value] as const
    ),
  );
  const bases = [...text.matchAll(/^FROM (\S+)/gm)].map(([, base = ""]) => {
    const [, digest = ""] = base.split("@");
    return digests.get(digest) ?? digest;
  });
  assert.equal(bases.length, 2);
  for (const base of bases) assert.match(base, /^sha256:[0-9a-f]{64}$/);
});

const conversions = [
  [{ type: "string", maxLength: 3, title: "name" }, {
    type: "string",
    maxLength: 3,
    title: "name",
  }],
  [{ const: "A" }, { type: "string", enum: ["A"] }],
  [{}, { "x-kubernetes-preserve-unknown-fields": true }],
  [{ type: "object", additionalProperties: { type: "string" } }, {
    type: "object",
    additionalProperties: { type: "string" },
  }],
  [{
    oneOf: [
      {
        type: "object",
        required: ["type", "a"],
        properties: { type: { const: "A" }, a: { type: "string" } },
      },
      {
        type: "object",
        required: ["type", "b"],
        properties: { type: { const: "B" }, b: { type: "number" } },
      },
    ],
  }, {
    type: "object",
    required: ["type"],
    properties: {
      type: { type: "string", enum: ["A", "B"] },
      a: { type: "string" },
      b: { type: "number" },
    },
  }],
  [{ anyOf: [{ type: "string" }, { type: "number" }] }, {
    "x-kubernetes-preserve-unknown-fields": true,
  }],
  [{ $ref: "#/$defs/Name", description: "own" }, {
    type: "string",
    description: "own",
  }],
] as const;
for (const [schema, expected] of conversions) {
  Deno.test(`a structural schema of ${JSON.stringify(schema)}`, () => {
    const definitions = { Name: { type: "string", description: "shared" } };
    assert.deepEqual(toStructuralSchema(schema, definitions), expected);
  });
}
