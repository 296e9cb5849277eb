import assert from "node:assert/strict";
import { apiKeyAuthentication } from "../../../../src/policy/keys/api_key_authentication.ts";
import { urlRewrite } from "../../../../src/policy/http/url_rewrite.ts";

const root = new URL("../../../../", import.meta.url);
const kind = await Deno.readTextFile(
  new URL("tests/harness/gateway/badge_policy.ts", root),
);

/** Facts of `badge_policy.ts`, with their indentation. */
const facts: Readonly<Record<string, number>> = {
  description: 2,
  schema: 2,
  phases: 2,
  merge: 2,
  access: 2,
  identity: 4,
  isRequired: 4,
  credentials: 4,
  event: 4,
  stage: 4,
  selection: 4,
  rejections: 2,
  badge_check: 4,
  explain: 6,
  check: 2,
  create: 2,
};

Deno.test("a kind of policy that lacks a fact does not compile, and the error names the fact", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const paths = Object.fromEntries(
      Object.keys(facts).map((fact) => [fact, `${folder}/${fact}.ts`]),
    );
    for (const [fact, path] of Object.entries(paths)) {
      await Deno.writeTextFile(path, without(fact));
    }
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...[
          "check",
          "--quiet",
          "--config",
          new URL("deno.json", root).pathname,
        ],
        ...Object.values(paths),
      ],
      env: { NO_COLOR: "1" },
    }).output();
    const errors = new TextDecoder().decode(stderr);

    assert.equal(success, false);
    const unnamed = Object.keys(facts).filter((fact) =>
      !errors.includes(`Property '${fact}' is missing`) ||
      !errors.includes(`/${fact}.ts:`)
    );
    assert.deepEqual(unnamed, [], errors);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("traces name a kind of policy as itself, unless it says otherwise", () => {
  const namesOf = (
    { trace: { event }, selection }: Pick<
      typeof urlRewrite,
      "trace" | "selection"
    >,
  ) => [event, Object.keys(selection)];
  assert.deepEqual(namesOf(urlRewrite), ["url_rewrite", ["urlRewrite"]]);
  assert.deepEqual(namesOf(apiKeyAuthentication), ["api_key", ["apiKey"]]);
});

/** Returns the module without a fact, with imports that work from another folder. */
function without(fact: string): string {
  const indent = " ".repeat(facts[fact] ?? 0);
  const property = new RegExp(
    `^${indent}${fact}:.*?(?=^${indent}\\w|^${indent.slice(2)}[}\\]])`,
    "ms",
  );
  assert.match(kind, property, fact);
  return kind.replace(property, "").replaceAll(
    '"../../../src/',
    `"${new URL("src/", root)}`,
  );
}
