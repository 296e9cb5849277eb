/** The source of a long configuration: nobody waits for it to be parsed again. */
import assert from "node:assert/strict";
import { runToEnd } from "../../../../src/base/slices.ts";
import { loadConfig } from "../../../../src/config/load.ts";
import { findPrivateScalars } from "../../../../src/config/source_secrets.ts";
import { schemasOf } from "../../../../src/gateway/candidate/candidate.ts";
import { HiddenSecrets } from "../../../../src/gateway/editing/hidden_secrets.ts";
import { processorTime } from "../../../harness/time/processor_time.ts";

const routes = Array.from({ length: 500 }, (_, number) => ({
  name: `route-${number}`,
  matches: [{ path: { value: `/r/${number}` } }],
  policies: {
    apiKeyAuthentication: { keys: [{ name: "ada", key: `secret #${number}` }] },
    directResponse: { status: 200 },
  },
}));
const text = JSON.stringify({ gateways: { default: { port: 3000 } }, routes });
const source = { name: "gateway.yaml", text };

Deno.test("the secrets of a long source are found in small steps, in a fraction of the time that it takes to load", () => {
  const loaded = loadConfig([source], {}, schemasOf());
  const times = [1, 2, 3].map(() => {
    const load = processorTime(() => loadConfig([source], {}, schemasOf()));
    const find = processorTime(() => {
      const secrets = runToEnd(loaded.findSecrets());
      new HiddenSecrets([source], secrets).hide(source);
    });
    return find / load;
  });
  const steps = loaded.findSecrets();
  let count = 0;
  while (!steps.next().done) count++;

  // A twentieth; parsing again takes more than half of it.
  assert.ok(Math.min(...times) < 0.25, times.join(" "));
  assert.ok(count > routes.length / 20, `${count} steps`);
});

Deno.test("a loaded source has the secrets of the source that is parsed for itself", () => {
  const loaded = loadConfig([source], {}, schemasOf());
  const [secrets] = runToEnd(loaded.findSecrets());
  const parsed = runToEnd(
    findPrivateScalars(source, { schemas: schemasOf(), sensitiveHeaders: [] }),
  );

  assert.equal(secrets?.private.length, routes.length);
  assert.deepEqual(
    secrets.private,
    parsed.private.filter(({ isSecret }) => isSecret),
  );
});

Deno.test("a list of documents that contains itself has an end", () => {
  const items = "*all, ".repeat(20);
  const text = `&all { kind: List, items: [${items}] }`;

  const { private: found } = runToEnd(
    findPrivateScalars(
      { name: "gateway.yaml", text },
      { schemas: schemasOf(), sensitiveHeaders: [] },
    ),
  );

  assert.deepEqual(found, []);
});
