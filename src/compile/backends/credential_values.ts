import {
  type KeyCredentials,
  secretEntries,
} from "../../api/resources/credentials/secret_value.ts";
import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import { POLICY_API_GROUP } from "../../api/schema/group.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import { readNamedFile, readSecretValue } from "../resolve/references.ts";
import { type CaReference, loadCa } from "../resolve/certificates.ts";
import type { BackendContext } from "./backend_context.ts";

/** Credentials that cannot be used, and the field that says why. */
export class UnusableCredentials extends TypeError {
  constructor(readonly path: DiagnosticPath, problem: string) {
    super(problem);
  }
}

/** Reads the secrets and the names of files in the credentials of a backend. */
export class CredentialValues {
  readonly #resource: GatewayBackend;
  readonly #context: BackendContext;

  constructor(resource: GatewayBackend, context: BackendContext) {
    this.#resource = resource;
    this.#context = context;
  }

  /** Returns the name of a file: pods of the cluster share the files of the gateway with nobody. @throws {UnusableCredentials} */
  fileOf(path: DiagnosticPath, file: string | undefined): string | undefined {
    if (file !== undefined && this.#resource.metadata.uid !== undefined) {
      throw new UnusableCredentials(
        [...path, "file"],
        "a backend of the cluster cannot read files of the gateway",
      );
    }
    return file;
  }

  /** Returns CA certificates, PEM; `undefined` without references. @throws {UnusableCredentials} */
  certificatesOf(
    path: DiagnosticPath,
    references: readonly CaReference[] | undefined,
  ): readonly string[] | undefined {
    return references?.map((reference, index) => {
      const place = [...path, index];
      this.fileOf(place, reference.file);
      try {
        return loadCa(reference, this.#resource, this.#context.inputs);
      } catch (error) {
        const problem = `Cannot use CA certificate: ${describeError(error)}`;
        throw new UnusableCredentials(place, problem);
      }
    });
  }

  /** Returns a secret. @throws {UnusableCredentials} */
  read(
    path: DiagnosticPath,
    entry: keyof typeof secretEntries,
    secret: KeyCredentials,
  ): string {
    try {
      return readKey(this.#resource, secret, this.#context, entry);
    } catch (error) {
      const [field = ""] = Object.keys(secret);
      throw new UnusableCredentials([...path, field], describeError(error));
    }
  }
}

/**
 * Returns the key of a backend.
 * @throws {TypeError} When it cannot be used.
 */
export function readKey(
  { metadata }: GatewayBackend,
  { fromEnv, key, file, secretRef }: KeyCredentials,
  context: BackendContext,
  entry: keyof typeof secretEntries = "key",
): string {
  if (metadata.uid !== undefined && secretRef === undefined) {
    throw new TypeError('a backend of the cluster needs "secretRef"');
  }
  if (fromEnv !== undefined && key === undefined) {
    throw new TypeError(`environment variable "${fromEnv}" is not set; set it`);
  }
  const text = key ??
    (file === undefined
      ? readSecretValue(
        {
          group: POLICY_API_GROUP,
          kind: "GatewayBackend",
          namespace: metadata.namespace,
        },
        { ...secretRef ?? { name: "" }, entry: secretEntries[entry] },
        context.inputs,
      )
      : readNamedFile(file, context.inputs));
  const trimmed = text.trim();
  if (trimmed === "") throw new TypeError("it is empty");
  return trimmed;
}
