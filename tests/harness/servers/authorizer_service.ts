/**
 * An external authorizer over real gRPC, based on the proto that Envoy publishes.
 *
 * @module
 */
// @ts-types="../parsers/grpc_js.d.ts"
import * as grpc from "@grpc/grpc-js";
import shipped from "@grpc/grpc-js-xds/package.json" with { type: "json" };
// @ts-types="../parsers/proto_loader.d.ts"
import { loadSync } from "@grpc/proto-loader";
import { freePort } from "../process/free_port.ts";

/** `AttributeContext.HttpRequest` as proto-loader reads it. */
export interface CheckedRequest {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly raw_body: Uint8Array;
  readonly context: Readonly<Record<string, string>>;
  readonly address: string;
}

/** `CheckResponse` with the field names of the proto, all optional. */
export type CheckReply = Readonly<Record<string, unknown>>;

/** A running authorizer. */
export interface AuthorizerService extends AsyncDisposable {
  readonly port: number;
  readonly received: readonly CheckedRequest[];
  /** Decides; may reject, which the client receives as an error of the service, or never settle. */
  reply: (request: CheckedRequest) => CheckReply | Promise<CheckReply>;
  /** Stops immediately and resets connections, like a crash. */
  stop(): void;
}

interface Check {
  readonly attributes: {
    readonly source: {
      readonly address: { readonly socket_address: { address: string } };
    };
    readonly request: { readonly http: Omit<CheckedRequest, "context"> };
    readonly context_extensions: Readonly<Record<string, string>>;
  };
}

/** Starts an authorizer on 127.0.0.1 that allows everything. */
export async function startAuthorizerService(): Promise<AuthorizerService> {
  const received: CheckedRequest[] = [];
  const server = new grpc.Server();
  const port = freePort();
  const service: AuthorizerService = {
    port,
    received,
    reply: () => ({ status: { code: 0 } }),
    stop: () => server.forceShutdown(),
    [Symbol.asyncDispose]: () => Promise.resolve(server.forceShutdown()),
  };
  server.addService(authorization(), {
    async Check(
      call: grpc.ServerUnaryCall<Check, CheckReply>,
      callback: grpc.sendUnaryData<CheckReply>,
    ) {
      const { source, request, context_extensions: context } =
        call.request.attributes;
      const { address } = source.address.socket_address;
      const checked = { ...request.http, context, address };
      received.push(checked);
      try {
        callback(null, await service.reply(checked));
      } catch (error) {
        callback({ code: grpc.status.UNKNOWN, message: String(error) });
      }
    },
  });
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(
      `127.0.0.1:${port}`,
      grpc.ServerCredentials.createInsecure(),
      (error) => error === null ? resolve() : reject(error),
    )
  );
  return service;
}

function authorization(): grpc.ServiceDefinition {
  const root = new URL(
    "./deps/",
    import.meta.resolve(`npm:${shipped.name}@${shipped.version}/package.json`),
  ).pathname;
  const definition = loadSync("envoy/service/auth/v3/external_auth.proto", {
    keepCase: true,
    longs: String,
    enums: String,
    defaults: true,
    includeDirs: ["envoy-api", "xds", "googleapis", "protoc-gen-validate"]
      .map((folder) => root + folder),
  });
  const loaded = grpc.loadPackageDefinition(definition);
  // deno-lint-ignore no-explicit-any -- loaded packages have no types
  return (loaded as any).envoy.service.auth.v3.Authorization.service;
}
