/**
 * A rate limit service over real gRPC, based on the proto that Envoy publishes.
 *
 * @module
 */
// @ts-types="../parsers/grpc_js.d.ts"
import * as grpc from "@grpc/grpc-js";
import shipped from "@grpc/grpc-js-xds/package.json" with { type: "json" };
// @ts-types="../parsers/proto_loader.d.ts"
import { loadSync } from "@grpc/proto-loader";
import type { KeyPair } from "../login/certificates.ts";
import { freePort } from "../process/free_port.ts";

/** `RateLimitRequest` as proto-loader reads it; absent messages are `null`. */
export interface ReceivedRequest {
  readonly domain: string;
  readonly hits_addend: number;
  readonly descriptors: readonly {
    readonly entries: readonly {
      readonly key: string;
      readonly value: string;
    }[];
    readonly limit: {
      readonly requests_per_unit: number;
      readonly unit: string;
    } | null;
    readonly hits_addend: { readonly value: string } | null;
  }[];
}

/** `RateLimitResponse` with the field names of the proto, all optional; or raw bytes. */
export type Reply = Readonly<Record<string, unknown>> | Uint8Array;

/** A running service. */
export interface RateLimitService extends AsyncDisposable {
  readonly port: number;
  /** All requests so far, in order. */
  readonly received: readonly ReceivedRequest[];
  /** Resolves once `count` requests have arrived. */
  waitFor(count: number): Promise<void>;
  /** Stops immediately and resets connections, like a crash. */
  stop(): void;
}

/** Options of the service. */
export interface RateLimitServiceOptions {
  /** Default: OK to everything. May reject, which the client receives as an error of the service. */
  readonly reply?: (request: ReceivedRequest) => Reply | Promise<Reply>;
  /** Default: any free one. */
  readonly port?: number;
  readonly tls?: KeyPair;
}

/** Starts a service on 127.0.0.1. */
export async function startRateLimitService(
  options: RateLimitServiceOptions = {},
): Promise<RateLimitService> {
  const { reply = () => ({ overall_code: "OK" }) } = options;
  const received: ReceivedRequest[] = [];
  const waiting = new Set<() => void>();
  const server = new grpc.Server();
  server.addService(rateLimitService(), {
    async ShouldRateLimit(
      call: grpc.ServerUnaryCall<ReceivedRequest, Reply>,
      callback: grpc.sendUnaryData<Reply>,
    ) {
      received.push(call.request);
      for (const check of waiting) check();
      try {
        callback(null, await reply(call.request));
      } catch (error) {
        callback({ code: grpc.status.UNKNOWN, message: String(error) });
      }
    },
  });
  const plainPort = await listen(server, options.port ?? freePort());
  const front = options.tls && startTlsFront(options.tls, plainPort);
  return {
    port: front?.port ?? plainPort,
    received,
    waitFor: (count) =>
      new Promise((resolve) => {
        function check(): void {
          if (received.length < count) return;
          waiting.delete(check);
          resolve();
        }
        waiting.add(check);
        check();
      }),
    stop: () => server.forceShutdown(),
    async [Symbol.asyncDispose]() {
      server.forceShutdown();
      await front?.[Symbol.asyncDispose]();
    },
  };
}

function listen(server: grpc.Server, port: number): Promise<number> {
  return new Promise((resolve, reject) =>
    server.bindAsync(
      `127.0.0.1:${port}`,
      grpc.ServerCredentials.createInsecure(),
      (error, bound) => error === null ? resolve(bound) : reject(error),
    )
  );
}

/** Terminates TLS in front of a plain server, because the library's TLS server does not work in Deno. */
function startTlsFront(
  { cert, key }: KeyPair,
  plainPort: number,
): { readonly port: number } & AsyncDisposable {
  const listener = Deno.listenTls({
    hostname: "127.0.0.1",
    port: 0,
    cert,
    key,
    alpnProtocols: ["h2"],
  });
  const relays = new Set<Promise<void>>();
  async function accept(): Promise<void> {
    for await (const secured of listener) {
      const relay = relayTo(plainPort, secured);
      relays.add(relay);
    }
  }
  const accepting = accept();
  return {
    port: listener.addr.port,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      await Promise.all(relays);
    },
  };
}

/** Relays until either side closes or the handshake fails. */
async function relayTo(port: number, secured: Deno.TlsConn): Promise<void> {
  const plain = await Deno.connect({ hostname: "127.0.0.1", port });
  await Promise.allSettled([
    secured.readable.pipeTo(plain.writable),
    plain.readable.pipeTo(secured.writable),
  ]);
}

const COMMON = "envoy/extensions/common/ratelimit/v3/ratelimit.proto";
let cached: grpc.ServiceDefinition | undefined;

function rateLimitService(): grpc.ServiceDefinition {
  cached ??= loadService();
  return cached;
}

function loadService(): grpc.ServiceDefinition {
  const root = new URL(
    "./",
    import.meta.resolve(`npm:${shipped.name}@${shipped.version}/package.json`),
  ).pathname;
  const envoy = `${root}deps/envoy-api/`;
  const newer = Deno.makeTempDirSync();
  try {
    writeNewer(`${newer}/${COMMON}`, Deno.readTextFileSync(envoy + COMMON));
    const definition = loadSync("envoy/service/ratelimit/v3/rls.proto", {
      keepCase: true,
      longs: String,
      enums: String,
      defaults: true,
      includeDirs: [
        newer,
        envoy,
        `${root}deps/xds`,
        `${root}deps/googleapis`,
        `${root}deps/protoc-gen-validate`,
      ],
    });
    const loaded = grpc.loadPackageDefinition(definition);
    // deno-lint-ignore no-explicit-any -- loaded packages have no types
    const { service } = (loaded as any).envoy.service.ratelimit.v3
      .RateLimitService;
    const { ShouldRateLimit: method } = service;
    const serialize = method.responseSerialize;
    method.responseSerialize = (reply: Reply) =>
      reply instanceof Uint8Array ? Buffer.from(reply) : serialize(reply);
    return service;
  } finally {
    Deno.removeSync(newer, { recursive: true });
  }
}

/** Adds `hits_addend` of descriptors, which the shipped proto does not have yet. */
function writeNewer(path: string, shipped: string): void {
  const limit = "RateLimitOverride limit = 2;";
  const newer = shipped
    .replace(limit, `${limit} google.protobuf.UInt64Value hits_addend = 3;`)
    .replace(
      "\nimport ",
      '\nimport "google/protobuf/wrappers.proto";\nimport ',
    );
  Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  Deno.writeTextFileSync(path, newer);
}
