import { isPerCaller } from "../../identity/backend_tokens/backend_credentials.ts";
import { jwtClaims } from "../../policy/authentication/request_identity.ts";
import type { Backend } from "../../snapshot/snapshot.ts";
import type { Report } from "../memory/report.ts";
import type { CompiledListener } from "../policies/effective_policy.ts";

/** Warns about backends that get tokens of the caller on routes where no policy verifies who that is: they get no requests. */
export function checkCallers(
  listeners: readonly CompiledListener[],
  report: Report,
): void {
  for (const { listener, rules } of listeners) {
    for (const { route, rule } of rules) {
      const policies = [...listener.policies, ...route.policies];
      if (policies.some(({ kind }) => kind.identity === jwtClaims)) continue;
      for (const { backend } of route.backends) {
        if (backend === undefined || !seesCaller(backend)) continue;
        const path = ["spec", "rules", rule.index];
        const message =
          `Backend "${backend.key}" gets tokens of the caller, whom no policy verifies; add "jwtAuthentication"`;
        report.warning(rule.route, { path, message });
      }
    }
  }
}

function seesCaller({ credentials, mcp }: Backend): boolean {
  const servers = mcp?.servers ?? [];
  return isPerCaller(credentials) ||
    servers.some(({ transport }) =>
      transport.kind !== "stdio" && isPerCaller(transport.backend.credentials)
    );
}
