import { isJsonObject } from "../../base/json.ts";
import type { KubernetesApi } from "../client/kubernetes_api.ts";

/** Dependencies of giving proxies their rights. */
export interface ProxyAccessOptions {
  readonly api: KubernetesApi;
  /** Field manager. */
  readonly manager: string;
  /** ClusterRole of proxies; with `namespaces`, its rights that are of no namespace are in `<role>-cluster`. */
  readonly role: string;
  /** Namespace of the proxies. */
  readonly namespace: string;
  /** Namespaces that proxies read; empty for all. */
  readonly namespaces: readonly string[];
}

const RBAC = "rbac.authorization.k8s.io";

/** Gives the service accounts of proxies the right to read, with one binding for all of them. */
export class ProxyAccess {
  readonly #options: ProxyAccessOptions;
  /** Accounts that were bound last. */
  #bound: string | undefined;

  constructor(options: ProxyAccessOptions) {
    this.#options = options;
  }

  /** Binds these service accounts, and no others. */
  async bind(accounts: readonly string[]): Promise<void> {
    const { api, manager, role, namespace, namespaces } = this.#options;
    const names = accounts.toSorted();
    if (this.#bound === names.join()) return;
    const subjects = names.map((name) => ({
      kind: "ServiceAccount",
      name,
      namespace,
    }));
    const apply = async (kind: string, roleName: string, folder: string) =>
      await api.apply(
        `/apis/${RBAC}/v1${folder}/${kind.toLowerCase()}s/${roleName}`,
        manager,
        {
          apiVersion: `${RBAC}/v1`,
          kind,
          metadata: {
            name: roleName,
            ownerReferences: [await this.#ownerOf(roleName)],
          },
          roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: roleName },
          subjects,
        },
      );
    if (namespaces.length === 0) await apply("ClusterRoleBinding", role, "");
    else {
      await apply("ClusterRoleBinding", `${role}-cluster`, "");
      for (const each of namespaces) {
        await apply("RoleBinding", role, `/namespaces/${each}`);
      }
    }
    this.#bound = names.join();
  }

  /** Bindings go with the role, when the chart is uninstalled. */
  async #ownerOf(role: string) {
    const path = `/apis/${RBAC}/v1/clusterroles/${role}`;
    const found = await this.#options.api.request({ path });
    const metadata = isJsonObject(found) ? found["metadata"] : undefined;
    return {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRole",
      name: role,
      uid: isJsonObject(metadata) ? metadata["uid"] : undefined,
    };
  }
}
