import type { Clock } from "../../base/clock.ts";
import { readFileTextSync } from "../../base/regular_file.ts";
import {
  type AccessOptions,
  type ClusterAccess,
  ClusterAccessError,
  rereadToken,
} from "./api_access.ts";
import { readKubeconfigs } from "./kubeconfig.ts";

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Between the paths of `KUBECONFIG`. */
const DELIMITER = Deno.build.os === "windows" ? ";" : ":";

/**
 * Finds the cluster in the order of `kubectl`: a kubeconfig that is named, the service account of the pod, the user's kubeconfig.
 * @throws {ClusterAccessError}
 */
export async function findClusterAccess(
  options: AccessOptions,
): Promise<ClusterAccess> {
  const { environment } = options;
  const named = options.kubeconfig === undefined
    ? (environment["KUBECONFIG"] ?? "").split(DELIMITER)
    : [options.kubeconfig];
  const paths = named.filter((path) => path !== "");
  if (paths.length > 0) return await readKubeconfigs(paths, options);
  if (environment["KUBERNETES_SERVICE_HOST"] !== undefined) {
    return readServiceAccount(options);
  }
  const home = environment["HOME"];
  if (home === undefined) {
    throw new ClusterAccessError(
      "Cannot find a cluster: set KUBECONFIG, or run in a pod with a service account",
    );
  }
  return await readKubeconfigs([`${home}/.kube/config`], options);
}

/**
 * Reads the access of a proxy to its controller. @param folder Has `ca.crt` and `token`.
 * @throws {ClusterAccessError}
 */
export function readControllerAccess(
  address: string,
  { folder, namespace, clock }: {
    readonly folder: string;
    /** Namespace of objects about the gateway itself. */
    readonly namespace: string;
    readonly clock: Clock;
  },
): ClusterAccess {
  try {
    return {
      server: `https://${address}`,
      ca: readFileTextSync(`${folder}/ca.crt`),
      ...rereadToken(`${folder}/token`, clock),
      namespace,
    };
  } catch (cause) {
    throw new ClusterAccessError(
      `Cannot read the certificate of the controller: ${folder}/ca.crt`,
      { cause },
    );
  }
}

/** Reads the access of a pod. https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/ */
function readServiceAccount(
  { environment, clock, serviceAccount = SERVICE_ACCOUNT }: AccessOptions,
): ClusterAccess {
  const host = environment["KUBERNETES_SERVICE_HOST"] ?? "";
  const port = environment["KUBERNETES_SERVICE_PORT_HTTPS"] ??
    environment["KUBERNETES_SERVICE_PORT"] ?? "443";
  const read = (name: string) => {
    try {
      return readFileTextSync(`${serviceAccount}/${name}`).trim();
    } catch (cause) {
      const message =
        `Cannot read the service account: ${serviceAccount}/${name}; set automountServiceAccountToken: true`;
      throw new ClusterAccessError(message, { cause });
    }
  };
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca: read("ca.crt"),
    ...rereadToken(`${serviceAccount}/token`, clock),
    namespace: read("namespace"),
  };
}
