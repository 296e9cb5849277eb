import { pause } from "../../base/clock.ts";
import { splitHostPort } from "../../base/wire/host_port.ts";
import type { Log } from "../../base/log/log.ts";
import type { KubernetesApi } from "../client/kubernetes_api.ts";
import { objectKey } from "../client/kubernetes_object.ts";
import { WakeUp } from "../client/wake_up.ts";
import { controllerId, proxyName } from "../infrastructure/proxy_objects.ts";
import type { ClusterState } from "../source/cluster_state.ts";
import type { ClusterSource } from "../source/cluster_source.ts";
import { Deliveries, type DeliveryOptions } from "./deliveries.ts";
import { DeliveryServer } from "./delivery_server.ts";
import type { KeyPair } from "./self_signed.ts";
import { readServerCertificate } from "./server_certificate.ts";
import { TokenReviews } from "./token_reviews.ts";

/** Dependencies of delivering to proxies. */
export interface ProxyDeliveryOptions extends DeliveryOptions {
  readonly source: ClusterSource;
  readonly api: KubernetesApi;
  readonly log: Log;
  /** Namespace of the controller and its proxies. */
  readonly namespace: string;
  /** Audience of the tokens of proxies. */
  readonly controllerName: string;
  /** Name and port at which proxies reach the controller. */
  readonly controller: string;
  /** Address to listen on. */
  readonly hostname: string;
}

const RETRY_MS = 1000;

/** Serves the proxies of all gateways, from each replica of the controller. */
export class ProxyDelivery {
  readonly #options: ProxyDeliveryOptions;
  readonly #deliveries: Deliveries;
  readonly #certificate = Promise.withResolvers<string | undefined>();
  readonly #ended = Promise.withResolvers<void>();
  #accounts: ReadonlyMap<string, string> = new Map();
  #accountsOf: ClusterState | undefined;

  constructor(options: ProxyDeliveryOptions) {
    this.#options = options;
    this.#deliveries = new Deliveries(options);
  }

  /** Resolves to the certificate of the controller (PEM), or to `undefined` when it stops before. */
  get certificate(): Promise<string | undefined> {
    return this.#certificate.promise;
  }

  /** Resolves when `run` has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Takes note of a change of the cluster. */
  onChange(): void {
    this.#deliveries.onChange();
  }

  /** Serves until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const certificate = await this.#untilCertificate(signal);
    this.#certificate.resolve(certificate?.cert);
    while (certificate !== undefined && !signal.aborted) {
      try {
        await this.#serve(certificate, signal);
      } catch (error) {
        this.#options.log.error("Cannot serve proxies", { error });
        await pause(this.#options.clock, RETRY_MS, signal);
      }
    }
    this.#ended.resolve();
  }

  async #untilCertificate(signal: AbortSignal): Promise<KeyPair | undefined> {
    const { api, clock, log, namespace, controllerName } = this.#options;
    while (!signal.aborted) {
      try {
        return await readServerCertificate({
          ...{ api, namespace, host: this.#address.host, now: clock.now() },
          name: `${controllerId(controllerName)}-certificate`,
        });
      } catch (error) {
        log.warn("Cannot read the certificate for proxies", { error });
      }
      await pause(clock, RETRY_MS, signal);
    }
    return undefined;
  }

  async #serve(certificate: KeyPair, signal: AbortSignal): Promise<void> {
    const { source, hostname, controllerName } = this.#options;
    let isReady = false;
    void source.cache.live.then(() => isReady = true);
    await using _ = new DeliveryServer({
      ...this.#options,
      ...{ hostname, certificate, port: this.#address.port },
      reviews: new TokenReviews({ ...this.#options, audience: controllerName }),
      deliveries: this.#deliveries,
      gatewayOf: (account) => this.#gatewayOf(account),
      isReady: () => isReady,
    });
    await new WakeUp().wait(signal);
  }

  get #address(): { readonly host: string; readonly port: number } {
    return splitHostPort(this.#options.controller) ?? { host: "", port: 0 };
  }

  #gatewayOf(account: string): string | undefined {
    const { taken } = this.#options.source;
    if (taken !== this.#accountsOf) {
      this.#accountsOf = taken;
      this.#accounts = new Map(
        taken?.gateways.map((
          gateway,
        ) => [proxyName(gateway), objectKey(gateway)]),
      );
    }
    return this.#accounts.get(account);
  }
}
