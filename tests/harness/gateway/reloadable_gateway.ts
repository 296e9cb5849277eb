import type { ConfigurationSource } from "../../../mod.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import type { Clock } from "../../../src/base/clock.ts";
import { freePort } from "../process/free_port.ts";

/** The short form without its `gateways`, and additional Kubernetes resources. */
export type Documents = readonly [
  Readonly<Record<string, unknown>>,
  ...unknown[],
];

/** A gateway in this process that a test can reconfigure and restart. */
export interface ReloadableGateway extends AsyncDisposable {
  readonly gateway: Gateway;
  /** For instance `http://127.0.0.1:40123`; the same after a restart. */
  readonly origin: string;
  /** All log lines so far. */
  readonly log: readonly string[];
  /** Applies a configuration; returns whether it was accepted. */
  reload(documents: Documents): Promise<boolean>;
  /** Restarts the gateway with the last accepted configuration. */
  restart(): Promise<void>;
}

/** Starts a gateway with one listener on a free port. */
export async function startReloadableGateway(
  documents: Documents,
  { clock }: { readonly clock?: Clock } = {},
): Promise<ReloadableGateway> {
  const port = freePort();
  const log: string[] = [];
  let accepted = write(port, documents);
  let text = accepted;
  const config: ConfigurationSource = {
    watch: () => Promise.resolve((async function* () {})()),
    read: () => Promise.resolve([{ name: "<config>", text }]),
  };
  const start = () =>
    Gateway.start({
      config,
      writeLog: (line) => log.push(line),
      ...(clock && { clock }),
    });
  let gateway = await start();
  return {
    get gateway() {
      return gateway;
    },
    origin: `http://127.0.0.1:${port}`,
    log,
    async reload(next) {
      text = write(port, next);
      await gateway.reload();
      const isAccepted = gateway.status().lastRejected === undefined;
      if (isAccepted) accepted = text;
      return isAccepted;
    },
    async restart() {
      await gateway.stop(0);
      text = accepted;
      gateway = await start();
    },
    [Symbol.asyncDispose]: () => gateway.stop(0),
  };
}

function write(port: number, [config, ...resources]: Documents): string {
  const shortForm = {
    gateways: { default: { port, address: "127.0.0.1" } },
    ...config,
  };
  return [shortForm, ...resources].map((document) => JSON.stringify(document))
    .join("\n---\n");
}
