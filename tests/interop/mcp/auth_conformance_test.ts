import assert from "node:assert/strict";
import { runClientHere } from "../../harness/parsers/conformance.ts";
import { runAuthClient } from "./auth_client.ts";
import {
  authorizationReportOf,
  type Column,
  tableOf,
} from "./conformance_report.ts";

const reportFile = new URL(
  "../../../docs/conformance/mcp_authorization.md",
  import.meta.url,
);

/** Scenarios that 2026-07-28 requires of clients that log in. */
const required = [
  "authorization-server-migration",
  "basic-cimd",
  "iss-normalized",
  "iss-not-advertised",
  "iss-supported",
  "iss-supported-missing",
  "iss-unexpected",
  "iss-wrong-issuer",
  "metadata-default",
  "metadata-issuer-mismatch",
  "metadata-var1",
  "metadata-var2",
  "metadata-var3",
  "offline-access-not-supported",
  "offline-access-scope",
  "pre-registration",
  "resource-mismatch",
  "scope-from-scopes-supported",
  "scope-from-www-authenticate",
  "scope-omitted-when-undefined",
  "scope-retry-limit",
  "scope-step-up",
  "token-endpoint-auth-basic",
  "token-endpoint-auth-none",
  "token-endpoint-auth-post",
];

/** Scenarios of extensions, which the suite does not score. */
const extensions = [
  "client-credentials-basic",
  "client-credentials-jwt",
  "dpop",
  "dpop-nonce",
  "enterprise-managed-authorization",
  "wif-jwt-bearer",
];

Deno.test("a gateway passes the MCP conformance suite for clients that need authorization as docs/conformance/mcp_authorization.md reports", async () => {
  const column = "a gateway as the client";
  const tables = [
    tableOf("Scenarios of 2026-07-28", [
      { name: column, scenarios: await run(required, "2026-07-28") },
    ]),
    tableOf("Scenarios of extensions", [
      { name: column, scenarios: await run(extensions) },
    ]),
  ];

  const report = authorizationReportOf(tables);
  if (Deno.env.get("GOLDEN") === "update") {
    await Deno.writeTextFile(reportFile, report);
  }
  assert.equal(await Deno.readTextFile(reportFile), report);
});

async function run(
  names: readonly string[],
  revision?: "2026-07-28",
): Promise<Column["scenarios"]> {
  const scenarios: Column["scenarios"][] = [];
  for (const name of names) {
    const scenario = `auth/${name}`;
    const result = await runClientHere(
      scenario,
      revision,
      runAuthClient,
    );
    assert.deepEqual(result.problems, []);
    scenarios.push(onceEach(result.scenarios));
  }
  return Object.assign({}, ...scenarios);
}

/** Lists each check once: how many requests it is made of depends on time. */
function onceEach(scenarios: Column["scenarios"]): Column["scenarios"] {
  return Object.fromEntries(
    Object.entries(scenarios).map((
      [name, checks],
    ) => [name, [...new Set(checks)]]),
  );
}
