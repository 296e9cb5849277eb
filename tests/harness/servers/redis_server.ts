/** A real Redis server that keeps every write, also when it is killed. */
export class RedisServer implements AsyncDisposable {
  readonly url: string;
  readonly #host: string;
  readonly #port: number;
  readonly #folder: string;
  #process: Deno.ChildProcess;

  private constructor(host: string, port: number, folder: string) {
    this.#host = host;
    this.#port = port;
    this.#folder = folder;
    this.url = `redis://${host}:${port}`;
    this.#process = this.#spawn();
  }

  /** @param host Address of this machine. */
  static async start(host = "127.0.0.1"): Promise<RedisServer> {
    const probe = Deno.listen({ hostname: host, port: 0 });
    const { port } = probe.addr;
    probe.close();
    const server = new RedisServer(host, port, await Deno.makeTempDir());
    await server.#untilReady();
    return server;
  }

  /** Kills the server; its port refuses connections until `restart`. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
  }

  async restart(): Promise<void> {
    this.#process = this.#spawn();
    await this.#untilReady();
  }

  /** Copies what it has; the function that is returned makes a server of the copy take its place. */
  async copy(): Promise<() => Promise<void>> {
    const copy = await Deno.makeTempDir();
    const copyAll = (from: string, to: string) =>
      new Deno.Command("cp", { args: ["-a", `${from}/.`, to] }).output();
    await copyAll(this.#folder, copy);
    return async () => {
      await this.kill();
      await Deno.remove(this.#folder, { recursive: true });
      await Deno.mkdir(this.#folder);
      await copyAll(copy, this.#folder);
      await Deno.remove(copy, { recursive: true });
      await this.restart();
    };
  }

  /** Returns all that the server has written to its log of writes. */
  async content(): Promise<string> {
    const texts: string[] = [];
    for await (const path of filesBelow(this.#folder)) {
      const bytes = await Deno.readFile(path);
      texts.push(new TextDecoder("latin1").decode(bytes));
    }
    return texts.join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.#folder, { recursive: true });
  }

  #spawn(): Deno.ChildProcess {
    return new Deno.Command("redis-server", {
      args: [
        ...["--port", String(this.#port), "--bind", this.#host],
        ...["--protected-mode", "no"],
        ...["--dir", this.#folder, "--save", ""],
        ...["--appendonly", "yes", "--appendfsync", "always"],
      ],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
  }

  async #untilReady(): Promise<void> {
    const ping = new TextEncoder().encode("PING\r\n");
    for (let attempts = 0; attempts < 600; attempts++) {
      try {
        using connection = await Deno.connect({
          hostname: this.#host,
          port: this.#port,
        });
        await connection.write(ping);
        const reply = new Uint8Array(16);
        const length = await connection.read(reply) ?? 0;
        const text = new TextDecoder().decode(reply.subarray(0, length));
        if (text.startsWith("+PONG")) return;
      } catch (error) {
        if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("redis-server is not ready after 30 s");
  }
}

async function* filesBelow(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* filesBelow(path);
    else yield path;
  }
}
