import {
  type KeyCredentials,
  secretEntries,
} from "../../api/resources/credentials/secret_value.ts";
import type { BackendTlsPolicy } from "../../api/resources/backend_tls_policy.ts";
import type { Gateway } from "../../api/resources/gateway_resource.ts";
import type { ClientCertificate } from "../../http/client/upstream.ts";
import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import { POLICY_API_GROUP } from "../../api/schema/group.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import type { EgressTarget } from "../../base/wire/egress_policy.ts";
import type { Backend, Endpoint } from "../../snapshot/backend.ts";
import type { ResultTable } from "../memory/compile_memory.ts";
import type { Problem, Report } from "../memory/report.ts";
import { type CaReference, loadCa } from "../resolve/certificates.ts";
import { namespacedName } from "../resolve/precedence.ts";
import {
  type Inputs,
  readFileOf,
  readNamedFile,
  readSecretValue,
  type References,
} from "../resolve/references.ts";
import type { WrittenHost } from "./written_hosts.ts";

/** A backend that exists and cannot be used. */
export interface InvalidBackend {
  /** Reason if its host is denied. */
  readonly denial: string | undefined;
}

/** Dependencies of compiling backends. */
export interface BackendContext {
  readonly references: References;
  readonly inputs: Inputs;
  readonly report: Report;
  readonly backendMemory: ResultTable<string, Backend | InvalidBackend>;
  readonly tlsMemory: ResultTable<BackendTlsPolicy, Backend["tls"]>;
  /** Client certificates of gateways. */
  readonly certificateMemory: ResultTable<
    Gateway,
    ClientCertificate | undefined
  >;
}

/** Facts about a backend that its credentials may leave out. */
export interface CredentialPlace {
  /** Of an MCP server: credentials of another one are never used. The default is that of the backend. */
  readonly key?: string;
  /** Of an MCP server. */
  readonly url?: string | undefined;
  /** Service of signatures of AWS. */
  readonly service?: string | undefined;
  /** Region of signatures of AWS. */
  readonly region?: string | undefined;
}

/** Credentials that cannot be used, and the field that says why. */
export class UnusableCredentials extends TypeError {
  constructor(readonly path: DiagnosticPath, problem: string) {
    super(problem);
  }
}

/** A host of a backend that the gateway does not connect to. */
interface DeniedHost extends WrittenHost {
  readonly denial: string;
}

/** Compilation of one backend: resolves what its resource refers to, and reports its problems. */
export class BackendCompilation {
  readonly resource: GatewayBackend;
  /** `namespace/name` */
  readonly key: string;
  /** Settings of its TLS policy. */
  readonly tls: Backend["tls"];
  /** Settings of the process for all backends. */
  readonly inputs: Inputs;
  readonly #report: Report;

  constructor(
    resource: GatewayBackend,
    tls: Backend["tls"],
    { inputs, report }: Pick<BackendContext, "inputs" | "report">,
  ) {
    this.resource = resource;
    this.key = namespacedName(resource);
    this.tls = tls;
    this.inputs = inputs;
    this.#report = report;
  }

  /** True for resources of a cluster, whose authors share no files with the gateway. */
  get isOfCluster(): boolean {
    return this.resource.metadata.uid !== undefined;
  }

  /** Reports an error of the resource. */
  error(problem: Problem): void {
    this.#report.error(this.resource, problem);
  }

  /** Reads a file. @throws When it cannot. */
  readFile(path: string): string {
    return readFileOf(this.inputs)(path);
  }

  /** Returns CA certificates, PEM. @throws {TypeError} When they cannot be used. */
  loadCa(reference: CaReference): string {
    return loadCa(reference, this.resource, this.inputs);
  }

  /** Returns why the gateway does not connect to a host; `undefined` if it does. */
  denialOf(target: EgressTarget): string | undefined {
    return this.inputs.read(({ egress }) => egress.denialOf(target));
  }

  /** Returns the first host that is denied as it is written; the addresses of names are checked when they are connected to. */
  findDenied(written: readonly WrittenHost[]): DeniedHost | undefined {
    const loopbackPorts = this.loopbackPortsOf(written);
    for (const each of written) {
      const { host, port } = each;
      const denial = this.denialOf({ host, port, loopbackPorts });
      if (denial !== undefined) return { ...each, denial };
    }
    return undefined;
  }

  /** Returns the ports of `hosts` that the backend may have on the loopback interface. */
  loopbackPortsOf(hosts: readonly Endpoint[] | undefined): readonly number[] {
    const ports = new Set(hosts?.map(({ port }) => port));
    return [...ports].filter((port) =>
      this.inputs.read(({ loopbackPorts }) => loopbackPorts.has(port))
    );
  }

  /** Returns the name of a file in credentials. @throws {UnusableCredentials} For resources of a cluster. */
  fileOf(path: DiagnosticPath, file: string | undefined): string | undefined {
    if (file !== undefined && this.isOfCluster) {
      throw new UnusableCredentials(
        [...path, "file"],
        "a backend of the cluster cannot read files of the gateway",
      );
    }
    return file;
  }

  /** Returns CA certificates of credentials, PEM; `undefined` without references. @throws {UnusableCredentials} */
  certificatesOf(
    path: DiagnosticPath,
    references: readonly CaReference[] | undefined,
  ): readonly string[] | undefined {
    return references?.map((reference, index) => {
      const place = [...path, index];
      this.fileOf(place, reference.file);
      try {
        return this.loadCa(reference);
      } catch (error) {
        const problem = `Cannot use CA certificate: ${describeError(error)}`;
        throw new UnusableCredentials(place, problem);
      }
    });
  }

  /** Returns a secret. @throws {UnusableCredentials} */
  readSecret(
    path: DiagnosticPath,
    entry: keyof typeof secretEntries,
    secret: KeyCredentials,
  ): string {
    try {
      const text = this.#readSecret(secret, secretEntries[entry]).trim();
      if (text !== "") return text;
      throw new TypeError("it is empty");
    } catch (error) {
      const [field = ""] = Object.keys(secret);
      throw new UnusableCredentials([...path, field], describeError(error));
    }
  }

  /** @throws {TypeError} When it cannot be used. */
  #readSecret(
    { fromEnv, key, file, secretRef }: KeyCredentials,
    entry: string,
  ): string {
    if (this.isOfCluster && secretRef === undefined) {
      throw new TypeError('a backend of the cluster needs "secretRef"');
    }
    if (key !== undefined) return key;
    if (fromEnv !== undefined) {
      const problem = `environment variable "${fromEnv}" is not set; set it`;
      throw new TypeError(problem);
    }
    if (file !== undefined) return readNamedFile(file, this.inputs);
    const { namespace } = this.resource.metadata;
    const kind = "GatewayBackend";
    const from = { group: POLICY_API_GROUP, kind, namespace };
    const reference = { ...secretRef ?? { name: "" }, entry };
    return readSecretValue(from, reference, this.inputs);
  }
}
