import type { Findings } from "./finding.ts";

/** Verdict about one kind of client. */
export interface ClientVerdict {
  readonly client: string;
  readonly getsIn: boolean;
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
  "not-protected",
  "redirected",
  "forbidden-not-challenged",
  "server-error",
  "no-mcp-endpoint",
  "no-challenge",
  "no-resource-metadata",
  "resource-mismatch",
  "no-authorization-server",
  "issuer-is-no-url",
  "no-server-metadata",
  "bad-authorization-endpoint",
  "bad-token-endpoint",
  "no-registration",
  "registration-refused",
  "registration-unreachable",
  "authorization-rejected",
  "authorization-unreachable",
  "authorization-invalid-scope",
  "authorization-invalid-target",
  "authorization-unauthorized-client",
  "authorization-server-error",
  "authorization-invalid-request",
  "login-failed",
  "token-refused",
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
  return profiles.map(({ name, failsOn }) => {
    const because = [...fatal, ...failsOn].filter((id) => findings.has(id));
    return { client: name, getsIn: because.length === 0, because };
  });
}
