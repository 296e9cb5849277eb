import { textSource } from "../../../mod.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import type { Clock } from "../../../src/base/clock.ts";
import type { PolicyRegistry } from "../../../src/policy/contract/policy_registry.ts";
import { freePort } from "../process/free_port.ts";
import { testWorkers } from "./test_workers.ts";

/** A gateway in this process with its own port. */
export interface TestGateway extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly port: number;
  /** For instance `http://127.0.0.1:40123`. */
  readonly origin: string;
  /** All log lines so far. */
  readonly log: readonly string[];
  /** The access log so far. */
  readonly accessLog: readonly string[];
}

/**
 * Starts a gateway with `gateways.default` on a free port, unless `listener` has one, one worker or `GATEWAY_TEST_WORKERS`, unless `config` says how many,
 * and the rest of the short form as given.
 * @param resources Additional Kubernetes resources.
 */
export async function startTestGateway(
  config: Readonly<Record<string, unknown>>,
  listener: Readonly<Record<string, unknown>> = {},
  resources: readonly unknown[] = [],
  { clock, policies }: {
    readonly clock?: Clock;
    readonly policies?: PolicyRegistry;
  } = {},
): Promise<TestGateway> {
  const { port: given } = listener;
  const port = typeof given === "number" ? given : freePort();
  const log: string[] = [];
  const accessLog: string[] = [];
  const { config: settings, ...rest } = config;
  const shortForm = {
    gateways: { default: { port, address: "127.0.0.1", ...listener } },
    config: {
      // Workers have the clock of the system.
      workers: clock === undefined ? testWorkers : 1,
      ...(typeof settings === "object" && settings),
    },
    ...rest,
  };
  const documents = [shortForm, ...resources].map((document) =>
    JSON.stringify(document)
  );
  const gateway = await Gateway.start({
    config: textSource(documents.join("\n---\n")),
    writeLog: (line) => log.push(line),
    writeAccessLog: (line) => accessLog.push(line),
    workers: {
      entry: new URL("../../../worker.ts", import.meta.url),
      writeLog: (lines) => addLines(log, lines),
      writeAccessLog: (lines) => addLines(accessLog, lines),
      onLost: () => {},
    },
    ...(clock && { clock }),
    ...(policies && { policies }),
  });
  return {
    gateway,
    port,
    origin: `http://127.0.0.1:${port}`,
    log,
    accessLog,
    [Symbol.asyncDispose]: () => gateway.stop(0),
  };
}

function addLines(log: string[], lines: string): Promise<void> {
  log.push(...lines.split("\n").slice(0, -1));
  return Promise.resolve();
}
