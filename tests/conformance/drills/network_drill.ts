/** A network between gateway and API server that drops packets without a word, in one direction or both. */
import assert from "node:assert/strict";
import { type Finding, sleep } from "../../drills/drill.ts";
import { BRIDGE_ADDRESS } from "../api_server.ts";
import {
  changeRoute,
  create,
  type DrillCluster,
  type DrillGateway,
  gatewayObjects,
  redirectRoute,
  startDrillGateway,
  until,
} from "./drill_cluster.ts";
import { startLoad } from "./outage_drill.ts";

const PORT = 8080;
/** Link of clients to the gateway, which stays well. */
const CLIENTS = { own: "10.251.0.1", gateway: "10.251.0.2" };
/** Links from the gateway to the router, and on to the API server. */
const ROUTER = { gatewaySide: "10.250.0.1", serverSide: "10.252.0.2" };
const SERVER_SIDE = "10.252.0.1";
const SETTLE_MS = 12_000;

/** Direction in which packets are dropped. */
type Direction = "both" | "to the gateway" | "to the API server";

const directions: readonly Direction[] = [
  "both",
  "to the gateway",
  "to the API server",
];

/**
 * Drops the packets of the open connection alone, as a firewall does that has forgotten it: the gateway has to open another one. Then
 * drops all packets for a while.
 */
export async function networkDrill(cluster: DrillCluster): Promise<Finding[]> {
  const { api, directory } = cluster;
  await create(api, gatewayObjects(PORT));
  await create(api, [redirectRoute("r", "v0")]);
  const kubeconfig = `${directory}/network.kubeconfig`;
  const text = await Deno.readTextFile(cluster.kubeconfig);
  await Deno.writeTextFile(
    kubeconfig,
    text.replace("https://127.0.0.1:", `https://${BRIDGE_ADDRESS}:`),
  );
  await using network = await Network.create();
  await using gateway = await startDrillGateway(
    { directory, kubeconfig },
    PORT,
    { namespaceOf: network.gateway, host: CLIENTS.gateway },
  );
  await gateway.untilTarget("r", "v0");
  const load = startLoad(gateway);
  const change = countedChanges(cluster, gateway);
  const figures: Record<string, string> = {};
  for (const direction of directions) {
    await network.forgetConnections(direction);
    figures[`connection dead (${direction}), in step after`] = await change();
    // Without acknowledgements, the API server stops sending after a while.
    await sleep(SETTLE_MS);
    figures[`later (${direction})`] = await change();
  }
  for (const direction of directions) {
    await untilSource(gateway, 1);
    await network.drop(direction);
    const from = performance.now();
    await untilSource(gateway, 0);
    figures[`all dropped (${direction}), noticed after`] = secondsSince(from);
    await sleep(SETTLE_MS);
    await network.heal(direction);
    figures[`healed (${direction}), in step after`] = await change();
  }
  const { sent, lost } = await load.stop();
  assert.equal(lost, 0, "requests were lost");
  return [{
    drill: "packets dropped",
    figures: { ...figures, requests: sent, lost },
  }];
}

/** Returns a function that changes the route and waits until the gateway has the change. */
function countedChanges({ api }: DrillCluster, gateway: DrillGateway) {
  let count = 0;
  return async () => {
    const target = `v${++count}`;
    await changeRoute(api, "r", target);
    const from = performance.now();
    await gateway.untilTarget("r", target);
    return secondsSince(from);
  };
}

/** Waits until the gateway says whether it can read the cluster. */
async function untilSource(gateway: DrillGateway, value: 0 | 1): Promise<void> {
  const line = `gateway_config_source_up ${value}\n`;
  await until(async () => (await gateway.stats("/metrics")).includes(line));
}

function secondsSince(from: number): string {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}

/** The gateway's network namespace, and that of a router to the API server. */
class Network {
  readonly #processes: readonly Deno.ChildProcess[];
  readonly gateway: number;
  readonly #router: number;
  /** Last part of the address from which the gateway opens connections. */
  #source = 2;

  private constructor(gateway: Deno.ChildProcess, router: Deno.ChildProcess) {
    this.#processes = [gateway, router];
    this.gateway = gateway.pid;
    this.#router = router.pid;
  }

  static async create(): Promise<Network> {
    const network = new Network(await isolated(), await isolated());
    await network.#connect();
    return network;
  }

  async #connect(): Promise<void> {
    const [gateway, router] = [this.gateway, this.#router].map(String);
    const ip = (line: string) => run("ip", ...line.split(" "));
    await ip(`address add ${BRIDGE_ADDRESS}/32 dev lo`);
    await ip(`link add clients type veth peer name clients netns ${gateway}`);
    await ip(`address add ${CLIENTS.own}/24 dev clients`);
    await ip("link set clients up");
    await ip(`link add server type veth peer name server netns ${router}`);
    await ip(`address add ${SERVER_SIDE}/24 dev server`);
    await ip("link set server up");
    await ip(`route add 10.250.0.0/24 via ${ROUTER.serverSide}`);
    await this.#inRouter(`link set lo up`);
    await this.#inRouter(`address add ${ROUTER.serverSide}/24 dev server`);
    await this.#inRouter("link set server up");
    await this.#inRouter(
      `link add gateway type veth peer name router netns ${gateway}`,
    );
    await this.#inRouter(`address add ${ROUTER.gatewaySide}/24 dev gateway`);
    await this.#inRouter("link set gateway up");
    await this.#inRouter(`route add ${BRIDGE_ADDRESS} via ${SERVER_SIDE}`);
    await run(
      ...["nsenter", "-t", String(router), "-n", "sh", "-c"],
      "echo 1 >/proc/sys/net/ipv4/ip_forward",
    );
    await this.#inGateway("link set lo up");
    await this.#inGateway(`address add ${CLIENTS.gateway}/24 dev clients`);
    await this.#inGateway("link set clients up");
    await this.#inGateway(`address add ${this.#address}/24 dev router`);
    await this.#inGateway("link set router up");
    await this.#inGateway(
      `route add ${BRIDGE_ADDRESS} via ${ROUTER.gatewaySide} src ${this.#address}`,
    );
  }

  get #address(): string {
    return `10.250.0.${this.#source}`;
  }

  /** Drops the packets of the connections that are open; new ones have another address. */
  async forgetConnections(direction: Direction): Promise<void> {
    await this.drop(direction);
    this.#source++;
    await this.#inGateway(`address add ${this.#address}/24 dev router`);
    await this.#inGateway(
      `route replace ${BRIDGE_ADDRESS} via ${ROUTER.gatewaySide} src ${this.#address}`,
    );
  }

  /** Drops the packets of the address that the gateway has now. */
  async drop(direction: Direction): Promise<void> {
    await this.#change("add", direction);
  }

  /** Ends what `drop` did. */
  async heal(direction: Direction): Promise<void> {
    await this.#change("del", direction);
  }

  async #change(change: "add" | "del", direction: Direction): Promise<void> {
    if (direction !== "to the API server") {
      await this.#inRouter(`route ${change} blackhole ${this.#address}`);
    }
    if (direction !== "to the gateway") {
      await this.#inRouter(
        `rule ${change} from ${this.#address} to ${BRIDGE_ADDRESS} blackhole`,
      );
    }
  }

  async #inRouter(line: string): Promise<void> {
    await inside(this.#router, line);
  }

  async #inGateway(line: string): Promise<void> {
    await inside(this.gateway, line);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#processes) each.kill("SIGKILL");
    await Promise.all(this.#processes.map(({ status }) => status));
    await run("ip", "address", "del", `${BRIDGE_ADDRESS}/32`, "dev", "lo");
  }
}

/** Starts a process with a network namespace of its own, which ends with the process. */
async function isolated(): Promise<Deno.ChildProcess> {
  const process = new Deno.Command("unshare", {
    args: ["--net", "sh", "-c", "echo; exec sleep infinity"],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = process.stdout.getReader();
  await reader.read();
  reader.releaseLock();
  return process;
}

async function inside(pid: number, line: string): Promise<void> {
  await run("nsenter", "-t", String(pid), "-n", "ip", ...line.split(" "));
}

async function run(program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args })
    .output();
  if (!success) {
    const text = new TextDecoder().decode(stderr).trim();
    throw new Error(`${program} ${args.join(" ")}: ${text}`);
  }
}
