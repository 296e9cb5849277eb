/** Types of the used part of `@grpc/grpc-js`; its own types include those of Node.js, which conflict with Deno's. */

export interface ServiceDefinition {
  readonly [method: string]: unknown;
}

export interface ServerUnaryCall<Request, _Response> {
  readonly request: Request;
}

export interface ServiceError {
  readonly code: number;
  readonly message: string;
}

export type sendUnaryData<Response> = (
  error: ServiceError | null,
  value?: Response,
) => void;

/** Serialization of a method's messages. */
export interface MethodDefinition {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  requestSerialize(message: Uint8Array): Uint8Array;
  requestDeserialize(bytes: Uint8Array): Uint8Array;
  responseSerialize(message: Uint8Array): Uint8Array;
  responseDeserialize(bytes: Uint8Array): Uint8Array;
}

export class Metadata {
  set(key: string, value: string): void;
  get(key: string): unknown[];
}

export interface CallStatus {
  readonly code: number;
  readonly metadata: Metadata;
}

/** A call of either side; which members there are depends on the method. */
export interface Call {
  readonly request: Uint8Array;
  // deno-lint-ignore no-explicit-any -- each event has arguments of its own
  on(event: string, listener: (...args: any[]) => void): void;
  // deno-lint-ignore no-explicit-any -- each event has arguments of its own
  once(event: string, listener: (...args: any[]) => void): void;
  write(message: Uint8Array): void;
  end(): void;
}

/** Ends a unary call of the server. */
export type UnaryDone = (
  error: { readonly code: number; readonly details: string } | null,
  value: Uint8Array | null,
  trailers: Metadata,
) => void;

export interface GenericClient {
  Unary(
    message: Uint8Array,
    done: (error: Error | null, reply: unknown) => void,
  ): Call;
  Chat(): Call;
  close(): void;
}

export function makeGenericClientConstructor(
  service: ServiceDefinition,
  name: string,
): new (address: string, credentials: unknown) => GenericClient;

export const credentials: {
  createInsecure(): unknown;
  createSsl(roots: Uint8Array): unknown;
};

export class ServerCredentials {
  static createInsecure(): ServerCredentials;
}

export class Server {
  addService(
    service: ServiceDefinition,
    // deno-lint-ignore no-explicit-any -- each method has its own messages
    methods: Readonly<Record<string, (call: any, callback: any) => unknown>>,
  ): void;
  bindAsync(
    address: string,
    credentials: ServerCredentials,
    callback: (error: Error | null, port: number) => void,
  ): void;
  forceShutdown(): void;
}

export const status: { readonly UNKNOWN: number };

export function loadPackageDefinition(
  definition: unknown,
): Readonly<Record<string, unknown>>;
