import { run } from "./pods.ts";

/** Port of a Service, with the addresses of its ready pods. */
export interface ServedPort {
  readonly port: number;
  readonly targets: readonly { readonly hostname: string; port: number }[];
}

/** Forwards connections to the addresses of Services as kube-proxy does, and gives Services their names in `/etc/hosts`. */
export class ServiceProxy {
  readonly #targets = new Map<string, ServedPort["targets"]>();
  readonly #hosts = new Map<string, string>();
  readonly #hostsFile: string;
  #next = 0;

  /** @param directory For the file of names. */
  constructor(directory: string) {
    this.#hostsFile = `${directory}/hosts`;
  }

  /** Takes the range of the Services; needs a network and a mount namespace that end with the test. */
  async start(): Promise<void> {
    await Deno.copyFile("/etc/hosts", this.#hostsFile);
    await run("mount", "--bind", this.#hostsFile, "/etc/hosts");
    await run("ip", "route", "add", "local", "10.96.0.0/16", "dev", "lo");
  }

  /** Takes note of a Service, `namespace/name`. */
  async update(
    key: string,
    address: string,
    ports: readonly ServedPort[],
  ): Promise<void> {
    const [namespace, name] = key.split("/");
    const line = `${address} ${name}.${namespace}.svc`;
    if (this.#hosts.get(key) !== line) {
      this.#hosts.set(key, line);
      await Deno.writeTextFile(this.#hostsFile, `\n${line}\n`, {
        append: true,
      });
    }
    for (const { port, targets } of ports) {
      const socket = `${address}:${port}`;
      const isNew = !this.#targets.has(socket);
      this.#targets.set(socket, targets);
      if (isNew) void this.#serve(socket, address, port);
    }
  }

  async #serve(socket: string, hostname: string, port: number): Promise<void> {
    for await (const client of await listen(hostname, port)) {
      void this.#forward(socket, client);
    }
  }

  async #forward(socket: string, client: Deno.TcpConn): Promise<void> {
    const targets = this.#targets.get(socket) ?? [];
    const target = targets[this.#next++ % targets.length];
    try {
      if (target === undefined) return;
      using server = await Deno.connect(target);
      await Promise.all([
        client.readable.pipeTo(server.writable),
        server.readable.pipeTo(client.writable),
      ]);
    } catch {
      // One of both has gone; so does the other.
    } finally {
      try {
        client.close();
      } catch {
        // The pipe has closed it.
      }
    }
  }
}

const RETRY_MS = 100;

/** Listens; waits while an outgoing connection has the port. */
async function listen(
  hostname: string,
  port: number,
): Promise<Deno.TcpListener> {
  for (;;) {
    try {
      return Deno.listen({ hostname, port });
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
