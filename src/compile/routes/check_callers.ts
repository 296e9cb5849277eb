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

/**
 * Warns about LLM backends without credentials on routes whose policies take the credentials of the client: the provider gets
 * none. Elsewhere, it gets those of the client.
 */
export function checkLlmCredentials(
  listeners: readonly CompiledListener[],
  report: Report,
): void {
  for (const { listener, rules } of listeners) {
    for (const { route, rule } of rules) {
      const policies = [...listener.policies, ...route.policies];
      if (!policies.some(({ kind }) => kind.identity !== undefined)) continue;
      for (const { backend } of route.backends) {
        if (backend === undefined || !lacksCredentials(backend)) continue;
        const path = ["spec", "rules", rule.index];
        const message =
          `Backend "${backend.key}" has no credentials: ${backend.llm?.name} rejects requests without a key; add "credentials"`;
        report.warning(rule.route, { path, message });
      }
    }
  }
}

/** Servers at an address of the configuration may need none. */
function lacksCredentials({ llm, credentials, host }: Backend): boolean {
  return llm !== undefined && llm.authorization === undefined &&
    credentials === undefined && llm.provider.host?.(llm.place) === host;
}

function seesCaller({ credentials, mcp }: Backend): boolean {
  const servers = mcp?.servers ?? [];
  return isPerCaller(credentials) ||
    servers.some(({ transport }) =>
      transport.kind !== "stdio" && isPerCaller(transport.backend.credentials)
    );
}
