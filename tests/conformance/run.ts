/**
 * Follows the steps of `docs/kubernetes.md`, then runs the conformance suite, in the namespaces of `.ci/conformance`; arguments go to
 * the suite. The last line counts the tests.
 *
 * `GATEWAY_BIN` names an executable to test in place of the source; `REPORT`, a file for the report of the suite; with `KEEP`, the
 * logs are kept.
 */
import { VERSION } from "../../src/base/version.ts";
import { supportedFeatures } from "../../src/cluster/status/supported_features.ts";
import { type ApiServer, start, startApiServer } from "./api_server.ts";
import { followFirstSteps } from "./first_steps.ts";
import { install } from "./install.ts";
import { ClusterNode } from "./node.ts";
import {
  gatewayCommand,
  print,
  readDefinitions,
  requireVariable,
} from "./test_cluster.ts";

const CONTROLLER = "gateway.internal/controller";
/** Class of the suite, and of the manual. */
const CLASSES = ["gateway-conformance", "gateway"];

const programs = requireVariable("KUBE_BIN");
const directory = await Deno.makeTempDir({ dir: "/dev/shm", prefix: "kube." });
const startedAt = Date.now();
const failures = await runAll(await startCluster());
if (Deno.env.has("KEEP")) await print(`Logs are in ${directory}`);
else await Deno.remove(directory, { recursive: true });
Deno.exit(failures === 0 ? 0 : 1);

/** Starts an API server with the definitions, a node, and the gateway. */
async function startCluster(): Promise<ApiServer> {
  const server = await startApiServer(directory, programs);
  const { api, kubeconfig, kubelet } = server;
  await install(api, [
    ...await readDefinitions(),
    await Deno.readTextFile("deploy/crds.yaml"),
    ...CLASSES.map((name) =>
      JSON.stringify({
        apiVersion: "gateway.networking.k8s.io/v1",
        kind: "GatewayClass",
        metadata: { name },
        spec: { controllerName: CONTROLLER },
      })
    ),
  ]);
  const node = new ClusterNode({
    api,
    echo: `${programs}/echo-basic`,
    directory,
    kubelet,
    onError: (message) => void print(message),
  });
  void node.run(new AbortController().signal);
  startGateway(kubeconfig);
  return server;
}

/** Returns the number of tests that failed. */
async function runAll({ api, kubeconfig }: ApiServer): Promise<number> {
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
  const { code } = await start(`${programs}/conformance.test`, log, [
    "-test.run=TestConformance",
    "-test.v",
    `-gateway-class=${CLASSES[0]}`,
    "-cleanup-base-resources=false",
    `-supported-features=${supportedFeatures.join()}`,
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

function startGateway(kubeconfig: string): void {
  const [program = "", ...args] = gatewayCommand();
  start(program, `${directory}/gateway.log`, [
    ...args,
    "--cluster",
    `--kubeconfig=${kubeconfig}`,
    `--controller-name=${CONTROLLER}`,
    "--address-pool=10.245.0.0/16",
  ]);
}
