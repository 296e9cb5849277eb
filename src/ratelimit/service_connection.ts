/**
 * One connection to a rate limit service. Imported when a configuration names a service, since the gRPC library is large.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import {
  type ChannelCredentials,
  Client,
  type ClientOptions,
  connectivityState,
  credentials,
  Metadata,
  status,
} from "@grpc/grpc-js";
import type { Clock } from "../base/clock.ts";
import {
  formatAddress,
  type ServiceAddress,
  type ServiceTls,
} from "./service_address.ts";
import {
  decodeAnswer,
  encodeRequest,
  type ServiceAnswer,
  type ServiceRequest,
} from "./service_messages.ts";

/** What a connection is doing; `failing` waits for the next try, at most a second. */
export type ConnectionState =
  | "idle"
  | "connecting"
  | "ready"
  | "failing"
  | "closed";

const METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
const MAX_ANSWER_BYTES = 256 * 1024;

/**
 * A connection on which nothing comes back is replaced: the other machine may be gone without a word, which TCP finds out
 * after a quarter of an hour.
 */
const SILENT_CALLS = 10;
const SILENT_MS = 2000;

const options: ClientOptions = {
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.min_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1000,
  "grpc.max_receive_message_length": MAX_ANSWER_BYTES,
  // The configuration says where the service is; environment variables and DNS records do not.
  "grpc.enable_http_proxy": 0,
  "grpc.service_config_disable_resolution": 1,
  // Closing the connection then closes its sockets.
  "grpc.use_local_subchannel_pool": 1,
};

/** Asks a rate limit service. Connects when it is used first, again when the connection is lost. */
export class ServiceConnection {
  readonly #address: ServiceAddress;
  readonly #clock: Clock;
  #client: Client | undefined;
  #isClosed = false;
  /** Calls without an answer since the last one that had one. */
  #silentCalls = 0;
  #silentSince = 0;

  constructor(address: ServiceAddress, clock: Clock) {
    this.#address = address;
    this.#clock = clock;
  }

  get state(): ConnectionState {
    if (this.#isClosed) return "closed";
    const channel = this.#client?.getChannel();
    return channel === undefined
      ? "idle"
      : stateNames[channel.getConnectivityState(false)];
  }

  /** Connects ahead of the first call. */
  open(): void {
    this.#openClient().getChannel().getConnectivityState(true);
  }

  /** Sends a request; rejects when no answer came in time or what came is none. */
  ask(request: ServiceRequest, timeoutMs: number): Promise<ServiceAnswer> {
    return new Promise((resolve, reject) => {
      const client = this.#openClient();
      client.makeUnaryRequest(
        METHOD,
        (request: ServiceRequest) => Buffer.from(encodeRequest(request)),
        decodeAnswer,
        request,
        new Metadata(),
        { deadline: this.#clock.now() + timeoutMs },
        (error, answer) => {
          this.#watchSilence(client, error?.code === status.DEADLINE_EXCEEDED);
          if (error !== null) reject(error);
          else if (answer === undefined) reject(new Error("no answer"));
          else resolve(answer);
        },
      );
    });
  }

  /** Ends the connection; calls in flight fail. */
  close(): void {
    this.#isClosed = true;
    this.#client?.close();
  }

  #openClient(): Client {
    if (this.#isClosed) throw new Error("the connection is closed");
    this.#client ??= new Client(
      formatAddress(this.#address),
      createCredentials(this.#address.tls),
      { ...options, ...nameOptions(this.#address.tls) },
    );
    return this.#client;
  }

  #watchSilence(client: Client, isSilent: boolean): void {
    if (client !== this.#client) return;
    if (!isSilent) {
      this.#silentCalls = 0;
      return;
    }
    if (this.#silentCalls++ === 0) this.#silentSince = this.#clock.monotonic();
    const silentMs = this.#clock.monotonic() - this.#silentSince;
    if (this.#silentCalls < SILENT_CALLS || silentMs < SILENT_MS) return;
    this.#silentCalls = 0;
    this.#client = undefined;
    client.close();
  }
}

const stateNames = {
  [connectivityState.IDLE]: "idle",
  [connectivityState.CONNECTING]: "connecting",
  [connectivityState.READY]: "ready",
  [connectivityState.TRANSIENT_FAILURE]: "failing",
  [connectivityState.SHUTDOWN]: "closed",
} as const satisfies Record<connectivityState, ConnectionState>;

function createCredentials(tls: ServiceTls | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const roots = tls.caCertificates;
  return credentials.createSsl(
    roots === undefined ? null : Buffer.from(roots.join("\n")),
    null,
    null,
    {
      checkServerIdentity: (_, certificate) => verifyName(tls, certificate),
    },
  );
}

function nameOptions(tls: ServiceTls | undefined): ClientOptions {
  return tls === undefined ? {} : {
    "grpc.ssl_target_name_override": tls.hostname,
    "grpc.default_authority": tls.hostname,
  };
}

function verifyName(
  tls: ServiceTls,
  certificate: PeerCertificate,
): Error | undefined {
  const names = tls.subjectAltNames.length === 0
    ? [tls.hostname]
    : tls.subjectAltNames;
  const failures = names.map((name) => checkServerIdentity(name, certificate));
  return failures.includes(undefined) ? undefined : failures[0];
}
