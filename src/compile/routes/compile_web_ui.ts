import type { BackendRef } from "../../api/resources/http_route.ts";
import { POLICY_API_GROUP, WEB_UI_KIND } from "../../api/schema/group.ts";
import type { Backend, WebUiAccess } from "../../snapshot/snapshot.ts";
import type {
  CompiledListener,
  EffectivePolicy,
} from "../policies/effective_policy.ts";
import type { Report } from "../memory/report.ts";

/** Returns the web UI when a reference of kind `WebUI` names it by its access, `read-only` or `read-write`. */
export function findWebUi({ group, kind, name }: BackendRef) {
  if (kind !== WEB_UI_KIND || group !== POLICY_API_GROUP) return undefined;
  return webUis.find((backend) => backend.webUi === name);
}

const webUis = [createWebUi("read-only"), createWebUi("read-write")];

function createWebUi(webUi: WebUiAccess): Backend {
  return {
    key: `web-ui/${webUi}`,
    name: "web-ui",
    webUi,
    host: "web-ui",
    port: 0,
    protocol: "auto",
    tls: undefined,
  };
}

/** Warns about a web UI without authentication and authorization. */
export function checkWebUi(
  listeners: readonly CompiledListener[],
  report: Report,
): void {
  for (const { listener, effective, rules } of listeners) {
    for (const served of rules) {
      const { route, rule } = served;
      if (!route.backends.some(({ backend }) => backend?.webUi)) continue;
      if ([...effective, ...served.effective].some(isGuard)) continue;
      const path = ["spec", "rules", rule.index];
      const message =
        `Everybody who reaches gateway "${listener.gateway}" can use the web UI, which shows configuration and requests; add a policy such as "basicAuthentication"`;
      report.warning(rule.route, { path, message });
    }
  }
}

/** Reports whether the policy rejects callers who show no credential. */
function isGuard({ kind, layers }: EffectivePolicy): boolean {
  const [first] = layers;
  return first !== undefined && kind.isRequired(first.traffic);
}
