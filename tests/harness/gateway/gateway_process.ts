import { testWorkers } from "./test_workers.ts";
import { Buffer } from "node:buffer";
import { gatewayCommand } from "../process/executable.ts";
import { createConfigFolder } from "./file_gateway.ts";
import { freePort } from "../process/free_port.ts";
import { LogLines } from "../telemetry/log_lines.ts";

/** Options to start a gateway as a process. */
export interface ProcessOptions {
  /** The short form without its `gateways`, written to the file for `-f`. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Passes the configuration on standard input instead of in a file. */
  readonly stdin?: boolean;
  /** Additional fields of the listener. */
  readonly listener?: Readonly<Record<string, unknown>>;
  readonly maxOpenFiles?: number;
  /** Port of the listener; a free one by default. */
  readonly port?: number;
}

/** A gateway process with one listener and its admin and stats servers on free ports. */
export class GatewayProcess implements AsyncDisposable {
  readonly log = new LogLines();
  readonly accessLog = new LogLines();
  /** The port of the listener. */
  readonly port: number;
  readonly file: string;
  /** For instance `http://127.0.0.1:40123`. */
  admin = "";
  stats = "";
  readonly #folder: string;
  readonly #child: Deno.ChildProcess;
  readonly #output: Promise<unknown>;

  /** Resolves when all its servers listen. */
  static async start(options: ProcessOptions): Promise<GatewayProcess> {
    const { port = freePort() } = options;
    const config = configFor(port, options.config, options.listener);
    const { folder, file } = await createConfigFolder(config);
    const process = new GatewayProcess(port, { folder, file }, options);
    if (options.stdin) await process.#writeInput(JSON.stringify(config));
    await process.#ready();
    return process;
  }

  private constructor(
    port: number,
    { folder, file }: { folder: string; file: string },
    { env = {}, stdin = false, maxOpenFiles }: ProcessOptions,
  ) {
    this.port = port;
    this.file = file;
    this.#folder = folder;
    const args = ["-f", stdin ? "-" : file];
    const command = gatewayCommand({
      args,
      env: { NO_COLOR: "1", ...env },
      stdin: stdin ? "piped" : "null",
      maxOpenFiles,
    });
    this.#child = command.spawn();
    this.#output = Promise.all([
      this.log.addAll(this.#child.stderr),
      this.accessLog.addAll(this.#child.stdout),
    ]);
  }

  get pid(): number {
    return this.#child.pid;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  signal(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Resolves when the process has exited. */
  async exitCode(): Promise<number> {
    await this.#output;
    return (await this.#child.status).code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.signal("SIGKILL");
    } catch {
      // It has exited already.
    }
    await this.exitCode();
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #writeInput(text: string): Promise<void> {
    const writer = this.#child.stdin.getWriter();
    await writer.write(Buffer.from(text));
    await writer.close();
  }

  async #ready(): Promise<void> {
    const line = await this.log.next(/\tadmin\tListening/);
    this.admin = /admin=(\S+)/.exec(line)?.[1] ?? "";
    this.stats = /stats=(\S+)/.exec(line)?.[1] ?? "";
  }
}

/** Returns the whole configuration of a process with this listener port. */
export function configFor(
  port: number,
  config: Readonly<Record<string, unknown>>,
  listener: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const { config: settings, ...rest } = config;
  return {
    gateways: { default: { port, address: "127.0.0.1", ...listener } },
    config: {
      workers: testWorkers,
      adminAddr: "127.0.0.1:0",
      statsAddr: "127.0.0.1:0",
      ...(typeof settings === "object" ? settings : {}),
    },
    ...rest,
  };
}
