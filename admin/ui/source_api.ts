import type {
  ConfigurationEditor,
  Draft,
} from "../../src/gateway/configuration_editor.ts";
import { json, text } from "../admin_responses.ts";
import { hasToken } from "../check_admin_token.ts";
import { readJsonBody, textMember } from "../request_body.ts";
import type { Handler } from "../router.ts";
import type { AdminTarget } from "../target.ts";

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
      return json({
        ...source,
        isWritable: source.isWritable && isAllowed,
        needsToken: !isAllowed,
      });
    },
    check: async (request) =>
      json(await editor.check(await readDraft(request))),
    apply: async (request) =>
      isAllowed
        ? json(await editor.apply(await readDraft(request)))
        : text(403, 'forbidden: changes require "config.adminToken"'),
  };
}

async function readDraft(request: Request): Promise<Draft> {
  const body = await readJsonBody(request);
  return {
    hash: textMember(body, "hash"),
    name: textMember(body, "name"),
    text: textMember(body, "text"),
  };
}
