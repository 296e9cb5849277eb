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

/** Sources that a compilation has from its beginning. */
export interface InputSources {
  readonly readFile: ReadFile;
  /** Ports on the loopback interface that backends of a cluster may have. */
  readonly loopbackPorts: ReadonlySet<number>;
  /** Decides which hosts backends may have. */
  readonly egress: EgressPolicy;
  readonly references: References;
}

/** Sources that exist once backends are resolved and policies are attached. */
export interface AttachedSources {
  /** By `Backend.key`. */
  readonly backends: ReadonlyMap<string, Backend>;
  /** Keys of backends that exist and cannot be used, each with the reason if its host is denied; their errors are reported. */
  readonly invalidBackends: ReadonlyMap<string, string | undefined>;
  readonly clientCertificates: ReadonlyMap<Gateway, ClientCertificate>;
  readonly attachments: PolicyAttachments;
  /** By the key of their gateway or listener set. */
  readonly sites: ReadonlyMap<string, readonly ListenerSite[]>;
}

/** Look-ups of the current compilation that results remember; see `CompileMemory.read`. A look-up before its pass throws a `TypeError`. */
export class Lookups {
  readonly #memory: CompileMemory;
  #inputSources: InputSources | undefined;
  #attachedSources: AttachedSources | undefined;

  constructor(memory: CompileMemory) {
    this.#memory = memory;
  }

  /** Begins a compilation: drops the sources of the one before. */
  begin(sources: InputSources): void {
    this.#inputSources = sources;
    this.#attachedSources = undefined;
  }

  /** Adds the sources that exist once policies are attached. */
  attach(sources: AttachedSources): void {
    this.#attachedSources = sources;
  }

  get #inputs(): InputSources {
    return assertPassed(this.#inputSources, "begins");
  }

  get #attached(): AttachedSources {
    return assertPassed(this.#attachedSources, "attaches policies");
  }

  /** Reads a file. @throws When it cannot; then the result is not remembered. */
  readonly readFile: ReadFile = (path) => {
    const text = this.#memory.read(() => this.#tryRead(path));
    if (text !== undefined) return text;
    this.#memory.forgetThis();
    return this.#inputs.readFile(path);
  };

  /** Reports whether backends of a cluster may have a port on the loopback interface. */
  allowsLoopback(port: number): boolean {
    return this.#memory.read(() => this.#inputs.loopbackPorts.has(port));
  }

  /** See `EgressPolicy.denialOf`. */
  egressDenial(target: EgressTarget): string | undefined {
    return this.#memory.read(() => this.#inputs.egress.denialOf(target));
  }

  backend(key: string): Backend | undefined {
    return this.#memory.read(() => this.#attached.backends.get(key));
  }

  /** Returns why the host of a backend that cannot be used is denied. */
  denialOfBackend(key: string): string | undefined {
    return this.#memory.read(() => this.#attached.invalidBackends.get(key));
  }

  /** Reports whether a backend exists that cannot be used. */
  isInvalidBackend(key: string): boolean {
    return this.#memory.read(() => this.#attached.invalidBackends.has(key));
  }

  /** Returns the certificate that a gateway presents to backends. */
  clientCertificate(gateway: Gateway): ClientCertificate | undefined {
    return this.#memory.read(() =>
      this.#attached.clientCertificates.get(gateway)
    );
  }

  /** Returns all backends, to suggest one of them. */
  allBackends(): ReadonlyMap<string, Backend> {
    this.#memory.forgetThis();
    return this.#attached.backends;
  }

  service(key: string): Service | undefined {
    return this.#memory.read(() => this.#inputs.references.services.get(key));
  }

  secret(key: string): Secret | undefined {
    return this.#memory.read(() => this.#inputs.references.secrets.get(key));
  }

  configMap(key: string): ConfigMap | undefined {
    return this.#memory.read(() => this.#inputs.references.configMaps.get(key));
  }

  /** See `References.isAllowed`. */
  isAllowed(from: Referrer, to: Referent): boolean {
    return from.namespace === to.namespace ||
      this.#memory.read(() => this.#inputs.references.isAllowed(from, to));
  }

  /** See `References.allowsNamespace`. */
  allowsNamespace(
    ...[allowed, names]: Parameters<References["allowsNamespace"]>
  ): boolean {
    return this.#memory.read(() =>
      this.#inputs.references.allowsNamespace(allowed, names)
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
    return this.#memory.read(() => this.#attached.sites.get(parent));
  }

  /** Lists the keys of all gateways and listener sets. */
  parents(): readonly string[] {
    return this.#memory.read(() => [...this.#attached.sites.keys()]);
  }

  #level(key: string): readonly GatewayPolicy[] {
    return this.#memory.read(() => this.#attached.attachments.get(key)) ?? [];
  }

  #tryRead(path: string): string | undefined {
    try {
      return this.#inputs.readFile(path);
    } catch {
      return undefined;
    }
  }
}

function assertPassed<T>(sources: T | undefined, pass: string): T {
  if (sources !== undefined) return sources;
  throw new TypeError(`Looked up before the compilation ${pass}`);
}
