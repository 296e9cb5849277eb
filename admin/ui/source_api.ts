import type {
  ConfigurationEditor,
  Draft,
  DraftResult,
} from "../../src/gateway/configuration_editor.ts";
import { isError } from "../../src/config/diagnostics/located_diagnostic.ts";
import { withOutcome } from "../access/audit_log.ts";
import { json, text } from "../http/admin_responses.ts";
import { hasToken } from "../access/check_admin_token.ts";
import { readJsonBody, textMember } from "../http/request_body.ts";
import type { Handler } from "../http/router.ts";
import type { UiSource } from "./responses.ts";
import type { AdminTarget } from "../target/target.ts";

/** Handlers of the page that edits the configuration. */
export interface SourceHandlers {
  readonly show: Handler;
  readonly check: Handler;
  readonly apply: Handler;
}

/** Creates the handlers; drafts are applied only where the admin token is required. */
export function sourceHandlers(
  { settings }: AdminTarget,
  editor: ConfigurationEditor,
): SourceHandlers {
  const isAllowed = hasToken(settings);
  return {
    show: async () => {
      const source = await editor.read();
      const shown: UiSource = {
        ...source,
        isWritable: source.isWritable && isAllowed,
        needsToken: !isAllowed,
      };
      return json(shown);
    },
    check: async (request) =>
      json(await editor.check(await readDraft(request))),
    apply: async (request) => {
      if (!isAllowed) {
        return text(403, 'forbidden: changes require "config.adminToken"');
      }
      const draft = await readDraft(request);
      const result = await editor.apply(draft);
      return withOutcome(json(result), describeResult(draft, result));
    },
  };
}

function describeResult(
  { name }: Draft,
  { diagnostics, problem }: DraftResult,
): string {
  const errors = diagnostics.filter(isError).length;
  if (problem !== undefined) return `rejected: ${problem}`;
  return errors > 0
    ? `rejected: ${errors} errors in ${JSON.stringify(name)}`
    : `wrote ${JSON.stringify(name)}`;
}

async function readDraft(request: Request): Promise<Draft> {
  const body = await readJsonBody(request);
  return {
    hash: textMember(body, "hash"),
    name: textMember(body, "name"),
    text: textMember(body, "text"),
  };
}
