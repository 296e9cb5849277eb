/**
 * Follows the steps of `docs/kubernetes.md`, then runs the conformance suite, in the namespaces of `.ci/conformance`; arguments go to
 * the suite. The last line counts the tests.
 *
 * With `MODE=managed`, the chart is installed, and each gateway has a proxy of its own; else one process serves all of them.
 * `GATEWAY_BIN` names an executable to test in place of the source; `REPORT`, a file for the report of the suite; with `KEEP`, the
 * logs are kept.
 */
import { VERSION } from "../../src/base/version.ts";
import { supportedFeatures } from "../../src/cluster/status/supported_features.ts";
import { start } from "./api_server.ts";
import { followFirstSteps } from "./first_steps.ts";
import { install } from "./install.ts";
import {
  gatewayCommand,
  installChart,
  print,
  requireVariable,
  startTestCluster,
  type TestCluster,
} from "./test_cluster.ts";

const CONTROLLER = "gateway.internal/controller";
/** Class of the suite. */
const CLASS = "gateway-conformance";
/** Class of the manual, which the chart creates. */
const MANUAL_CLASS = "gateway";
/** Features of managed proxies that the suite cannot show here: the network of the tests has no load balancer with such addresses. */
const unmanagedFeatures = ["GatewayStaticAddresses"];

const isManaged = Deno.env.get("MODE") === "managed";
const programs = requireVariable("KUBE_BIN");
const startedAt = Date.now();
const cluster = await startTestCluster();
const { directory } = cluster;
await (isManaged ? installManaged(cluster) : installProcess(cluster));
const failures = await runAll(cluster);
if (Deno.env.has("KEEP")) await print(`Logs are in ${directory}`);
else await Deno.remove(directory, { recursive: true });
Deno.exit(failures === 0 ? 0 : 1);

/** Runs one process that serves all gateways, each at an address of its own. */
async function installProcess(
  { api, kubeconfig }: TestCluster,
): Promise<void> {
  await install(api, [
    await Deno.readTextFile("deploy/crds.yaml"),
    ...[CLASS, MANUAL_CLASS].map((name) => classOf(name)),
  ]);
  const [program = "", ...args] = gatewayCommand();
  start(program, `${directory}/gateway.log`, [
    ...args,
    "--cluster",
    `--kubeconfig=${kubeconfig}`,
    `--controller-name=${CONTROLLER}`,
    "--address-pool=10.245.0.0/16",
  ]);
}

/** Installs the chart, whose controller runs a proxy for each gateway. */
async function installManaged(cluster: TestCluster): Promise<void> {
  const parametersRef = {
    ...{ group: "", kind: "ConfigMap", name: "gateway-proxies" },
    namespace: "gateway-system",
  };
  await installChart(cluster, [
    ...["--set", "proxies.serviceType=ClusterIP"],
    ...["--set-string", "proxies.replicas=1"],
    ...["--set", `controllerName=${CONTROLLER}`],
  ]);
  await install(cluster.api, [classOf(CLASS, { parametersRef })]);
}

function classOf(name: string, more: object = {}): string {
  return JSON.stringify({
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "GatewayClass",
    metadata: { name },
    spec: { controllerName: CONTROLLER, ...more },
  });
}

/** Returns the number of tests that failed. */
async function runAll({ api, kubeconfig }: TestCluster): Promise<number> {
  const results = [
    ...await followFirstSteps(api),
    ...await runSuite(kubeconfig),
  ];
  for (const { name, isPassed } of results) {
    await print(`${isPassed ? "PASS" : "FAIL"} ${name}`);
  }
  const failed = results.filter(({ isPassed }) => !isPassed).length;
  const passed = results.length - failed;
  const seconds = Math.round((Date.now() - startedAt) / 1000);
  // As `deno test` counts.
  await print(
    `${
      failed === 0 ? "ok" : "FAILED"
    } | ${passed} passed | ${failed} failed (${seconds}s)`,
  );
  return failed;
}

/** Result of a test. */
interface Result {
  readonly name: string;
  readonly isPassed: boolean;
}

async function runSuite(kubeconfig: string): Promise<readonly Result[]> {
  const log = `${directory}/suite.log`;
  const report = Deno.env.get("REPORT");
  const features = isManaged
    ? supportedFeatures.filter((name) => !unmanagedFeatures.includes(name))
    : supportedFeatures;
  const { code } = await start(`${programs}/conformance.test`, log, [
    "-test.run=TestConformance",
    "-test.v",
    `-gateway-class=${CLASS}`,
    "-cleanup-base-resources=false",
    `-supported-features=${features.join()}`,
    "-conformance-profiles=GATEWAY-HTTP,GATEWAY-GRPC",
    "-usable-address=10.245.255.1",
    // A documentation address (RFC 5737), which no machine has.
    "-unusable-address=203.0.113.1",
    ...(report === undefined ? [] : [
      `-report-output=${report}`,
      "-organization=gateway",
      "-project=gateway",
      "-url=https://gateway.internal",
      `-version=${VERSION}`,
      `-mode=${isManaged ? "managed" : "default"}`,
      "-contact=SECURITY.md",
    ]),
    ...Deno.args,
  ], { KUBECONFIG: kubeconfig }).status;
  // The report of the suite counts parallel tests as passed, whatever became of them.
  const text = await Deno.readTextFile(log);
  const results = [...text.matchAll(/^ {4}--- (PASS|FAIL): (\S+)/gm)]
    .map(([, result, name = ""]) => ({ name, isPassed: result === "PASS" }))
    .toSorted((a, b) => a.name.localeCompare(b.name));
  if (results.length === 0) await print(text.slice(-4000));
  return code === 0 && results.length > 0
    ? results
    : [...results, { name: "TestConformance", isPassed: false }];
}
