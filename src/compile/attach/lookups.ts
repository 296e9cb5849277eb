import type {
  ConfigMap,
  Secret,
  Service,
} from "../../api/resources/cluster_kinds.ts";
import type { Gateway } from "../../api/resources/gateway_resource.ts";
import type { GatewayPolicy } from "../../api/resources/gateway_policy_schema.ts";
import type {
  EgressPolicy,
  EgressTarget,
} from "../../base/wire/egress_policy.ts";
import type { ClientCertificate } from "../../http/client/upstream.ts";
import type { Backend } from "../../snapshot/snapshot.ts";
import type { ReadFile } from "../resolve/certificates.ts";
import type { ListenerSite } from "./listener_sites.ts";
import {
  inlineLevelOf,
  levelOf,
  type PolicyAttachments,
  type PolicyTarget,
} from "./attach_policies.ts";
import type {
  References,
  Referent,
  Referrer,
} from "../resolve/reference_grants.ts";
import type { CompileMemory } from "../memory/compile_memory.ts";

/** Everything that parts of a compilation look up by name. */
export interface LookupSources {
  readFile: ReadFile;
  /** Ports on the loopback interface that backends of a cluster may have. */
  loopbackPorts: ReadonlySet<number>;
  /** Decides which hosts backends may have. */
  egress: EgressPolicy;
  references: References;
  /** By `Backend.key`. */
  backends: ReadonlyMap<string, Backend>;
  /** Keys of backends that exist and cannot be used, each with the reason if its host is denied; their errors are reported. */
  invalidBackends: ReadonlyMap<string, string | undefined>;
  clientCertificates: ReadonlyMap<Gateway, ClientCertificate>;
  attachments: PolicyAttachments;
  /** By the key of their gateway or listener set. */
  sites: ReadonlyMap<string, readonly ListenerSite[]>;
}

/** Look-ups of the current compilation that results remember; see `CompileMemory.read`. */
export class Lookups {
  readonly #memory: CompileMemory;
  #sources: LookupSources;

  constructor(memory: CompileMemory, sources: LookupSources) {
    this.#memory = memory;
    this.#sources = sources;
  }

  /** Replaces sources, those of the last compilation or those that are complete now. */
  use(sources: Partial<LookupSources>): void {
    this.#sources = { ...this.#sources, ...sources };
  }

  /** Reads a file. @throws When it cannot; then the result is not remembered. */
  readonly readFile: ReadFile = (path) => {
    const text = this.#memory.read(() => this.#tryRead(path));
    if (text !== undefined) return text;
    this.#memory.forgetThis();
    return this.#sources.readFile(path);
  };

  /** Reports whether backends of a cluster may have a port on the loopback interface. */
  allowsLoopback(port: number): boolean {
    return this.#memory.read(() => this.#sources.loopbackPorts.has(port));
  }

  /** See `EgressPolicy.denialOf`. */
  egressDenial(target: EgressTarget): string | undefined {
    return this.#memory.read(() => this.#sources.egress.denialOf(target));
  }

  backend(key: string): Backend | undefined {
    return this.#memory.read(() => this.#sources.backends.get(key));
  }

  /** Returns why the host of a backend that cannot be used is denied. */
  denialOfBackend(key: string): string | undefined {
    return this.#memory.read(() => this.#sources.invalidBackends.get(key));
  }

  /** Reports whether a backend exists that cannot be used. */
  isInvalidBackend(key: string): boolean {
    return this.#memory.read(() => this.#sources.invalidBackends.has(key));
  }

  /** Returns the certificate that a gateway presents to backends. */
  clientCertificate(gateway: Gateway): ClientCertificate | undefined {
    return this.#memory.read(() =>
      this.#sources.clientCertificates.get(gateway)
    );
  }

  /** Returns all backends, to suggest one of them. */
  allBackends(): ReadonlyMap<string, Backend> {
    this.#memory.forgetThis();
    return this.#sources.backends;
  }

  service(key: string): Service | undefined {
    return this.#memory.read(() => this.#sources.references.services.get(key));
  }

  secret(key: string): Secret | undefined {
    return this.#memory.read(() => this.#sources.references.secrets.get(key));
  }

  configMap(key: string): ConfigMap | undefined {
    return this.#memory.read(() =>
      this.#sources.references.configMaps.get(key)
    );
  }

  /** See `References.isAllowed`. */
  isAllowed(from: Referrer, to: Referent): boolean {
    return from.namespace === to.namespace ||
      this.#memory.read(() => this.#sources.references.isAllowed(from, to));
  }

  /** See `References.allowsNamespace`. */
  allowsNamespace(
    ...[allowed, names]: Parameters<References["allowsNamespace"]>
  ): boolean {
    return this.#memory.read(() =>
      this.#sources.references.allowsNamespace(allowed, names)
    );
  }

  /** Returns the policies of one level; `phase` is that of `spec.phase`. */
  policiesAt(
    target: PolicyTarget,
    phase?: "PreRouting",
  ): readonly GatewayPolicy[] {
    return this.#level(levelOf(target, phase));
  }

  /** Returns the inline policies of a route. */
  inlinePoliciesOf(route: PolicyTarget["resource"]): readonly GatewayPolicy[] {
    return this.#level(inlineLevelOf(route));
  }

  /** Returns the listeners of a gateway or listener set by its key; `undefined` when it does not exist. */
  listenersOf(parent: string): readonly ListenerSite[] | undefined {
    return this.#memory.read(() => this.#sources.sites.get(parent));
  }

  /** Lists the keys of all gateways and listener sets. */
  parents(): readonly string[] {
    return this.#memory.read(() => [...this.#sources.sites.keys()]);
  }

  #level(key: string): readonly GatewayPolicy[] {
    return this.#memory.read(() => this.#sources.attachments.get(key)) ?? [];
  }

  #tryRead(path: string): string | undefined {
    try {
      return this.#sources.readFile(path);
    } catch {
      return undefined;
    }
  }
}
