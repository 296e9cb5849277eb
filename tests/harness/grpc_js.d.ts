/** What the tests use of `@grpc/grpc-js`, whose own types bring those of Node.js, which disagree with Deno's. */

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

export class ServerCredentials {
  static createInsecure(): ServerCredentials;
}

export class Server {
  addService(
    service: ServiceDefinition,
    // deno-lint-ignore no-explicit-any -- each method has messages of its own
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
