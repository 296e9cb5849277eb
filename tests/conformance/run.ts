/**
 * Runs the conformance suite in the namespaces of `.ci/conformance`; arguments go to the suite.
 *
 * `GATEWAY_BIN` names an executable to test in place of the source; with `KEEP`, the logs are kept.
 */
import { supportedFeatures } from "../../src/cluster/status/supported_features.ts";
import { start, startApiServer } from "./api_server.ts";
import { install } from "./install.ts";
import { ClusterNode } from "./node.ts";
import {
  gatewayCommand,
  print,
  readDefinitions,
  requireVariable,
} from "./test_cluster.ts";

const CLASS = "gateway-conformance";
const CONTROLLER = "gateway.internal/controller";

const programs = requireVariable("KUBE_BIN");
const directory = await Deno.makeTempDir({ dir: "/dev/shm", prefix: "kube." });
const code = await runSuite();
if (Deno.env.has("KEEP")) await print(`Logs are in ${directory}`);
else await Deno.remove(directory, { recursive: true });
Deno.exit(code);

async function runSuite(): Promise<number> {
  const { api, kubeconfig, kubelet } = await startApiServer(
    directory,
    programs,
  );
  await install(api, [
    ...await readDefinitions(),
    await Deno.readTextFile("deploy/crds.yaml"),
    JSON.stringify({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GatewayClass",
      metadata: { name: CLASS },
      spec: { controllerName: CONTROLLER },
    }),
  ]);
  const node = new ClusterNode({
    api,
    echo: `${programs}/echo-basic`,
    directory,
    kubelet,
    onError: (message) => void print(message),
  });
  const stop = new AbortController();
  void node.run(stop.signal);
  startGateway(kubeconfig);
  const log = `${directory}/suite.log`;
  const { code } = await start(`${programs}/conformance.test`, log, [
    "-test.run=TestConformance",
    "-test.v",
    `-gateway-class=${CLASS}`,
    "-cleanup-base-resources=false",
    `-supported-features=${supportedFeatures.join()}`,
    `-conformance-options-file=${await writeOptions()}`,
    ...Deno.args,
  ], { KUBECONFIG: kubeconfig }).status;
  await report(log);
  return code;
}

/** Writes the options that have no flag of their own. */
async function writeOptions(): Promise<string> {
  const path = `${directory}/options.json`;
  const address = (value: string) => [{ type: "IPAddress", value }];
  await Deno.writeTextFile(
    path,
    JSON.stringify({
      usableNetworkAddresses: address("10.245.255.1"),
      // A documentation address (RFC 5737), which no machine has.
      unusableNetworkAddresses: address("203.0.113.1"),
    }),
  );
  return path;
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

/** Prints a line per test, and the counts: `73 passed, 0 failed`. The report of the suite counts parallel tests as passed. */
async function report(log: string): Promise<void> {
  const text = await Deno.readTextFile(log);
  const results = [...text.matchAll(/^ {4}--- (PASS|FAIL): (\S+)/gm)];
  for (const [line] of results.toSorted()) await print(line);
  if (results.length === 0) await print(text.slice(-4000));
  const failed = results.filter(([, result]) => result === "FAIL").length;
  await print(`${results.length - failed} passed, ${failed} failed`);
}
