import assert from "node:assert/strict";
import { isJsonObject } from "../../../src/base/json.ts";
import { supportedFeatures } from "../../../src/cluster/status/supported_features.ts";
import { parseAllYaml } from "../../../src/base/yaml_library.ts";

/** Features that every implementation of a profile has, and one that reports do not list. */
const unlisted = [
  "GRPCRoute",
  "GRPCRouteNamedRouteRule",
  "Gateway",
  "HTTPRoute",
  "ReferenceGrant",
];

const folder = new URL("../../../docs/", import.meta.url);

async function readProfile(name: string) {
  const text = await Deno.readTextFile(
    new URL("conformance/gateway_api_v1.6.0.yaml", folder),
  );
  const [report] = parseAllYaml(text);
  assert.ok(isJsonObject(report) && Array.isArray(report["profiles"]));
  const profile = report["profiles"].find((each) => each.name === name);
  assert.ok(isJsonObject(profile));
  return profile;
}

Deno.test("the published conformance report proves the features that the gateway claims", async () => {
  const { core, extended } = await readProfile("GATEWAY-HTTP");
  assert.ok(isJsonObject(core) && isJsonObject(extended));
  assert.equal(core["result"], "success");
  assert.equal(extended["result"], "success");
  assert.deepEqual(
    extended["supportedFeatures"],
    supportedFeatures.filter((name) => !unlisted.includes(name)),
  );
});

Deno.test("the manual has the figures of the report", async () => {
  const manual = await Deno.readTextFile(new URL("kubernetes.md", folder));
  const { core, extended } = await readProfile("GATEWAY-HTTP");
  for (const part of [core, extended]) {
    assert.ok(isJsonObject(part) && isJsonObject(part["statistics"]));
    const { Passed: passed, Failed: failed } = part["statistics"];
    assert.equal(failed, 0);
    assert.match(manual, new RegExp(`all ${passed} (core )?tests`));
  }
});
