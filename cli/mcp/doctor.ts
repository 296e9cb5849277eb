import { print } from "../output/output.ts";
import { printable } from "../output/printable.ts";
import { Failure, UsageError } from "../process/exit.ts";
import { type Examination, examine } from "./examine.ts";
import { loginSteps } from "./finding.ts";
import { openBrowser } from "./open_browser.ts";

/** Options of `gwctl mcp doctor`. */
export interface DoctorOptions {
  readonly json?: boolean;
  readonly login?: boolean;
  readonly clientId?: string;
}

/**
 * Examines the login of MCP clients at a server, and prints failed checks and which clients can log in.
 * @throws {Failure} If a check failed, so that a pipeline stops.
 */
export async function diagnoseLogin(
  url: string,
  { json = false, login = false, clientId }: DoctorOptions,
): Promise<void> {
  const examination = await examine(readServerUrl(url), {
    clientId,
    openBrowser: login ? openBrowser : undefined,
  });
  const { login: _, ...shown } = examination;
  await print(
    json ? JSON.stringify(shown, null, 2) + "\n" : textOf(examination),
  );
  const errors = examination.findings.filter(({ verdict }) =>
    verdict === "error"
  );
  if (errors.length > 0) {
    throw new Failure(
      `${errors.length} of ${examination.findings.length} checks failed`,
    );
  }
}

/** Names of this machine, whose servers seldom have a certificate. */
const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?(?:[/?]|$)/i;

/** The URL of an MCP server from the command line; `https` is the default, `http` that of this machine. @throws {UsageError} */
export function readServerUrl(text: string): string {
  const scheme = loopback.test(text) ? "http" : "https";
  const url = URL.parse(text.includes("://") ? text : `${scheme}://${text}`);
  if (url !== null && /^https?:$/.test(url.protocol)) return url.href;
  throw new UsageError(
    `Cannot read ${
      JSON.stringify(text)
    }: expected a URL such as https://mcp.example.com/mcp`,
  );
}

const marks = { ok: "✓", warning: "!", error: "✗" };

function textOf({ url, findings, clients }: Examination): string {
  const lines = [printable(url)];
  for (const step of loginSteps) {
    const own = findings.filter((finding) => finding.step === step);
    if (own.length === 0) continue;
    lines.push("", step);
    for (const { verdict, rule, source, seen, fix, isProbable } of own) {
      const guess = isProbable ? " (probably not)" : "";
      lines.push(`  ${marks[verdict]} ${rule}${guess}`);
      if (verdict === "ok") continue;
      lines.push(`      seen  ${printable(seen)}`);
      if (source !== "") lines.push(`      rule  ${source}`);
      if (fix !== undefined) lines.push(`      fix   ${printable(fix)}`);
    }
  }
  lines.push("", "clients");
  for (const { client, getsIn, isProbable, because } of clients) {
    const guess = isProbable ? "  probably" : "";
    const reason = getsIn ? "" : `  ${because.join(", ")}`;
    const mark = getsIn ? marks.ok : marks.error;
    lines.push(`  ${mark} ${client}${guess}${reason}`);
  }
  if (clients.some(({ getsIn, isProbable }) => getsIn && isProbable)) {
    lines.push("", "With --login, a login and a call show whether they do.");
  }
  return lines.join("\n") + "\n";
}
