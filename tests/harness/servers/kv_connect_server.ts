import { freePort } from "../process/free_port.ts";
import {
  decodeAtomicWrite,
  decodeSnapshotRead,
  encodeAtomicWriteOutput,
  encodeSnapshotReadOutput,
  type StoredEntry,
} from "./kv_connect_messages.ts";

/** A server for `Deno.openKv(url)` over HTTP/2, which the client requires. Reads and replaces single keys. */
export class KvConnectServer implements AsyncDisposable {
  /** The value of `DENO_KV_ACCESS_TOKEN`. */
  static readonly token = "kv-access-token";
  readonly #entries = new Map<string, StoredEntry>();
  readonly #port = freePort();
  #version = 0;
  #server: Deno.HttpServer<Deno.NetAddr> | undefined;

  constructor() {
    this.start();
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Serves the kept entries on the same port as before. */
  start(): void {
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: this.#port,
      onListen: () => {},
    }, (request) => this.#answer(request));
  }

  async stop(): Promise<void> {
    await this.#server?.shutdown();
    this.#server = undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #answer(request: Request): Promise<Response> {
    const token = request.headers.get("authorization");
    const body = await request.bytes();
    if (token !== `Bearer ${KvConnectServer.token}`) {
      return new Response("wrong access token", { status: 401 });
    }
    const { pathname } = new URL(request.url);
    if (pathname === "/") return Response.json(this.#describe());
    const headers = { "content-type": "application/x-protobuf" };
    if (pathname === "/v2/snapshot_read") {
      const found = decodeSnapshotRead(body).map((key) =>
        this.#entries.get(key.toHex())
      );
      return new Response(encodeSnapshotReadOutput(found), { headers });
    }
    return new Response(encodeAtomicWriteOutput(this.#write(body)), {
      headers,
    });
  }

  #describe() {
    return {
      version: 3,
      databaseId: "7c1f4a3e-6f0d-4c3f-9d0c-0d6b1b1f4d11",
      endpoints: [{ url: `${this.url}/v2`, consistency: "strong" }],
      token: KvConnectServer.token,
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    };
  }

  #write(body: Uint8Array): Uint8Array | undefined {
    const { checks, sets } = decodeAtomicWrite(body);
    const isCurrent = checks.every(({ key, versionstamp }) =>
      (this.#entries.get(key.toHex())?.versionstamp.toHex() ?? "") ===
        versionstamp.toHex()
    );
    if (!isCurrent) return undefined;
    const versionstamp = new Uint8Array(10);
    new DataView(versionstamp.buffer).setUint32(4, ++this.#version);
    for (const set of sets) {
      this.#entries.set(set.key.toHex(), { ...set, versionstamp });
    }
    return versionstamp;
  }
}
