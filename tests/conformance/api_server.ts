import { generateKeyPairSync } from "node:crypto";
import { KubernetesApi } from "../../src/cluster/client/kubernetes_api.ts";
import {
  createAuthority,
  type KeyPair,
} from "../harness/login/certificates.ts";

const PORT = 6443;
/** Address of the bridge that pods are connected to, at which they reach the API server. */
export const BRIDGE_ADDRESS = "10.244.0.1";
/** Another address of the bridge, for servers of tests: backends do not reach the first one. */
export const SERVERS_ADDRESS = "10.244.255.1";
/** Environment of pods with a service account. */
export const inCluster = {
  KUBERNETES_SERVICE_HOST: BRIDGE_ADDRESS,
  KUBERNETES_SERVICE_PORT: String(PORT),
};
/** Port of the store. */
export const ETCD_PORT = 2379;
const TOKEN = "admin-token";
const SERVER = `https://127.0.0.1:${PORT}`;

/** A real API server with its store. */
export interface ApiServer {
  readonly api: KubernetesApi;
  /** Path of a kubeconfig with all rights. */
  readonly kubeconfig: string;
  /** Sends a signal to kube-apiserver; `SIGKILL` ends it. */
  signal(signal: Deno.Signal): Promise<void>;
  /** Ends it, and its store. */
  stop(): Promise<void>;
  /** Starts it again; resolves when it is ready. */
  restart(): Promise<void>;
  /** Issues a certificate for clients that are the user of that name. */
  issueClient(user: string): Promise<KeyPair>;
  /** Certificate of the kubelet, which the API server asks for the logs of pods. */
  readonly kubelet: KeyPair;
}

/** Starts etcd and kube-apiserver with all state in `directory`; they end with the process namespace. @param flags More of them. */
export async function startApiServer(
  directory: string,
  programs: string,
  flags: readonly string[] = [],
): Promise<ApiServer> {
  const path = (name: string) => `${directory}/${name}`;
  const authority = await createAuthority();
  const server = await authority.issueServer([
    "127.0.0.1",
    "10.96.0.1",
    BRIDGE_ADDRESS,
    "localhost",
    "kubernetes.default.svc",
  ]);
  const kubelet = await authority.issueServer(["127.0.0.1"]);
  const signer = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const files = {
    "ca.crt": authority.cert,
    "apiserver.crt": server.cert,
    "apiserver.key": server.key,
    "sa.pub": signer.publicKey.export({ type: "spki", format: "pem" }),
    "sa.key": signer.privateKey.export({ type: "sec1", format: "pem" }),
    "tokens.csv": `${TOKEN},admin,admin,"system:masters"\n`,
    "kubeconfig": kubeconfig(path("ca.crt")),
  };
  for (const [name, content] of Object.entries(files)) {
    await Deno.writeTextFile(path(name), String(content));
  }
  const store = start(`${programs}/etcd`, path("etcd.log"), [
    `--data-dir=${path("etcd")}`,
    `--listen-client-urls=http://127.0.0.1:${ETCD_PORT}`,
    `--advertise-client-urls=http://127.0.0.1:${ETCD_PORT}`,
    "--listen-peer-urls=http://127.0.0.1:0",
    "--log-level=error",
  ]);
  const startServer = () =>
    start(`${programs}/kube-apiserver`, path("apiserver.log"), [
      `--etcd-servers=http://127.0.0.1:${ETCD_PORT}`,
      "--bind-address=0.0.0.0",
      `--secure-port=${PORT}`,
      `--advertise-address=${BRIDGE_ADDRESS}`,
      "--endpoint-reconciler-type=none",
      `--tls-cert-file=${path("apiserver.crt")}`,
      `--tls-private-key-file=${path("apiserver.key")}`,
      `--client-ca-file=${path("ca.crt")}`,
      `--token-auth-file=${path("tokens.csv")}`,
      "--authorization-mode=RBAC",
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${path("sa.pub")}`,
      `--service-account-signing-key-file=${path("sa.key")}`,
      "--service-cluster-ip-range=10.96.0.0/16",
      "--disable-admission-plugins=ServiceAccount",
      "--kubelet-preferred-address-types=InternalIP",
      "--enable-priority-and-fairness=false",
      "--profiling=false",
      ...flags,
    ]);
  let running = startServer();
  const api = new KubernetesApi({
    server: SERVER,
    ca: authority.cert,
    token: () => Promise.resolve(TOKEN),
    namespace: "default",
  });
  await untilReady(api, path("apiserver.log"));
  return {
    api,
    kubeconfig: path("kubeconfig"),
    kubelet,
    issueClient: (user) => authority.issueClient(user),
    async signal(signal) {
      running.kill(signal);
      if (signal === "SIGKILL") await running.status;
    },
    async stop() {
      for (const each of [running, store]) each.kill("SIGKILL");
      await Promise.all([running.status, store.status]);
    },
    async restart() {
      running = startServer();
      await untilReady(api, path("apiserver.log"));
    },
  };
}

/** Starts a program whose output goes to a file. */
export function start(
  program: string,
  log: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Deno.ChildProcess {
  return new Deno.Command("sh", {
    args: ["-c", 'log=$1; shift; exec "$@" >"$log" 2>&1', "sh", log, program]
      .concat(args),
    env,
    stdin: "null",
  }).spawn();
}

function kubeconfig(ca: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name: "test",
      cluster: { server: SERVER, "certificate-authority": ca },
    }],
    users: [{ name: "admin", user: { token: TOKEN } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "admin" } }],
    "current-context": "test",
  });
}

async function untilReady(api: KubernetesApi, log: string): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (Date.now() < deadline) {
    try {
      const response = await api.open({ path: "/readyz" });
      await response.body?.cancel();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  throw new Error(
    `The API server is not ready: ${await Deno.readTextFile(log)}`,
  );
}
