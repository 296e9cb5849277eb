import { rejectionIds } from "./explain_rejection.ts";
import type { Findings } from "./finding.ts";

/** Verdict about one kind of client. */
export interface ClientVerdict {
  readonly client: string;
  readonly getsIn: boolean;
  /** Nobody has tried: it follows from the metadata. */
  readonly isProbable: boolean;
  /** Failed checks that prevent its login, such as `issuer-mismatch`. */
  readonly because: readonly string[];
}

interface ClientProfile {
  readonly name: string;
  /** Checks that prevent its login, besides those for all clients. */
  readonly failsOn: readonly string[];
}

/** Failed checks that prevent the login of every client. */
const fatal = [
  "unreachable",
  "unknown-certificate",
  "not-protected",
  "redirected",
  "forbidden-not-challenged",
  "server-error",
  "no-mcp-endpoint",
  "no-challenge",
  "no-resource-metadata",
  "resource-mismatch",
  "resource-scheme",
  "resource-internal",
  "no-authorization-server",
  "issuer-is-no-url",
  "no-server-metadata",
  "provider-unreachable",
  "bad-authorization-endpoint",
  "bad-token-endpoint",
  "no-registration",
  "registration-closed",
  "registration-refused",
  "registration-unreachable",
  "authorization-rejected",
  "callback-not-registered",
  "unknown-client",
  "authorization-unreachable",
  "authorization-invalid-scope",
  "authorization-invalid-target",
  "authorization-unauthorized-client",
  "authorization-server-error",
  "authorization-invalid-request",
  "login-failed",
  ...rejectionIds,
];

/** Checks of clients that compare issuers: RFC 8414 section 3.3 and RFC 9207 section 2.4. */
const strict = ["issuer-mismatch", "iss-mismatch"];
const typescript = [
  "no-pkce",
  "no-code-flow",
  "registration-without-redirect-uris",
];
/** It appends its parameters with `?` to an endpoint that has a query. */
const python = ["endpoint-with-query"];

/** Behavior of the versions in `docs/mcp_login_reference.md`; for VS Code and Claude, by their documentation. */
const profiles: readonly ClientProfile[] = [
  { name: "TypeScript SDK 1", failsOn: typescript },
  { name: "TypeScript SDK 2", failsOn: [...typescript, ...strict] },
  { name: "Python SDK 1", failsOn: python },
  { name: "Python SDK 2, FastMCP", failsOn: [...python, ...strict] },
  { name: "mcp-remote", failsOn: [...typescript, ...strict] },
  { name: "MCP Inspector", failsOn: [...typescript, ...strict, "no-cors"] },
  { name: "VS Code", failsOn: ["no-pkce"] },
  { name: "Claude", failsOn: ["no-pkce"] },
];

/** Decides from the findings which kinds of clients can log in. */
export function judgeClients(findings: Findings): readonly ClientVerdict[] {
  const hasLoggedIn = findings.all.some(({ id, verdict }) =>
    id === "token-accepted" && verdict === "ok"
  );
  return profiles.map(({ name, failsOn }) => {
    const failed = [...fatal, ...failsOn].flatMap((id) =>
      findings.failed(id) ?? []
    );
    const getsIn = failed.length === 0;
    const isProbable = getsIn
      ? !hasLoggedIn
      : failed.every(({ isProbable }) => isProbable);
    const because = failed.map(({ id }) => id);
    return { client: name, getsIn, isProbable, because };
  });
}
