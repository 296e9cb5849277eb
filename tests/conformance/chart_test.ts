/** The chart, as Helm renders it; the API server of other tests accepts what comes of it. */
import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { parseAllYaml } from "../../src/base/yaml_library.ts";

const programs = Deno.env.get("KUBE_BIN") ?? ".tools/kube";

async function template(
  ...values: readonly string[]
): Promise<{ error: string; objects: readonly JsonObject[] }> {
  const { stdout, stderr } = await new Deno.Command(`${programs}/helm`, {
    args: [
      ...["template", "gateway", "deploy/helm/gateway", "-n", "system"],
      ...values.flatMap((each) => ["--set-json", each]),
    ],
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return {
    error: decode(stderr),
    objects: parseAllYaml(decode(stdout)).filter(isJsonObject),
  };
}

function find(
  objects: readonly JsonObject[],
  kind: string,
  name: string,
): JsonObject {
  const found = objects.find((each) =>
    each["kind"] === kind && isJsonObject(each["metadata"]) &&
    each["metadata"]["name"] === name
  );
  assert(found !== undefined, `${kind}/${name}`);
  return found;
}

for (
  const [value, message] of [
    ["config.bogus=1", /'bogus' not allowed/],
    ['config.logging={"levl":"info"}', /'levl' not allowed/],
    ["config.workers=0", /config\/workers/],
    ['config.egress.deny="10.0.0.0\/8"', /config\/egress/],
    ["proxies.nodeselector={}", /'nodeselector' not allowed/],
  ] as const
) {
  Deno.test(`Helm rejects ${value}`, async () => {
    const { error, objects } = await template(value);
    assert.match(error, message);
    assert.deepEqual(objects, []);
  });
}

Deno.test("Helm accepts settings with values of the environment", async () => {
  const { objects } = await template(
    'config.workers="${WORKERS}"',
    'config.egress={"deny":["10.0.0.0/8"],"allow":["*.example.com"]}',
  );
  assert(objects.length > 0);
});

const placement = [
  'imagePullSecrets=[{"name":"registry"}]',
  'image.pullPolicy="Always"',
  'nodeSelector={"pool":"edge"}',
  'tolerations=[{"key":"edge"}]',
  'priorityClassName="high"',
  'affinity={"nodeAffinity":{}}',
];

Deno.test("managed proxies get what says where the image comes from and where pods run", async () => {
  const { objects } = await template(...placement);
  const { data } = find(objects, "ConfigMap", "gateway-proxies");
  assert(isJsonObject(data));
  assert.equal(data["imagePullPolicy"], "Always");
  const [pod] = parseAllYaml(String(data["pod"]));
  assert.deepEqual(pod, {
    imagePullSecrets: [{ name: "registry" }],
    nodeSelector: { pool: "edge" },
    tolerations: [{ key: "edge" }],
    priorityClassName: "high",
  });
});

Deno.test("proxies can run elsewhere than their controller", async () => {
  const { objects } = await template(
    ...placement,
    'proxies.nodeSelector={"pool":"proxies"}',
    "proxies.tolerations=[]",
    'proxies.affinity={"podAntiAffinity":{}}',
    'proxies.topologySpreadConstraints=[{"topologyKey":"zone"}]',
  );
  const { data } = find(objects, "ConfigMap", "gateway-proxies");
  assert(isJsonObject(data));
  const [pod] = parseAllYaml(String(data["pod"]));
  assert.deepEqual(pod, {
    imagePullSecrets: [{ name: "registry" }],
    nodeSelector: { pool: "proxies" },
    priorityClassName: "high",
    affinity: { podAntiAffinity: {} },
    topologySpreadConstraints: [{ topologyKey: "zone" }],
  });
});

Deno.test("a NetworkPolicy opens the listeners of proxies to all, and their metrics to some", async () => {
  const { objects } = await template(
    "networkPolicy.enabled=true",
    'networkPolicy.metricsFrom=[{"namespaceSelector":{}}]',
    'config.statsAddr="0.0.0.0:9090"',
  );
  const { spec } = find(objects, "NetworkPolicy", "gateway-proxies");
  assert(isJsonObject(spec));
  assert.deepEqual(spec["podSelector"], {
    matchLabels: {
      "app.kubernetes.io/managed-by": "gateway.internal-controller",
    },
  });
  assert.deepEqual(spec["ingress"], [
    { ports: [{ port: 1, endPort: 9089 }, { port: 9091, endPort: 65535 }] },
    { ports: [{ port: "stats" }], from: [{ namespaceSelector: {} }] },
  ]);
});
