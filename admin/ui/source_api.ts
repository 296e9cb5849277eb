import type {
  ConfigurationEditor,
  Draft,
  DraftResult,
} from "../../src/gateway/editing/configuration_editor.ts";
import { isError } from "../../src/config/diagnostics/located_diagnostic.ts";
import { withOutcome } from "../access/audit_log.ts";
import { json, text } from "../http/admin_responses.ts";
import { isProtected } from "../access/check_admin_token.ts";
import { readJsonBody, textMember } from "../http/request_body.ts";
import type { Handler } from "../http/router.ts";
import type { UiSource } from "./responses.ts";
import type { AdminTarget } from "../target/target.ts";

/** Handlers of the page that edits the configuration. */
export interface SourceHandlers {
  readonly show: Handler;
  readonly check: Handler;
  readonly apply: Handler;
  readonly compare: Handler;
  readonly history: Handler;
  readonly compareWithPast: Handler;
  readonly compareWithFiles: Handler;
  readonly goBack: Handler;
}

/** Creates the handlers; drafts are applied only where the admin token is required. */
export function sourceHandlers(
  { settings }: AdminTarget,
  editor: ConfigurationEditor,
): SourceHandlers {
  const isAllowed = isProtected(settings);
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
    check: (request) => checkDraft(editor, request),
    apply: async (request) => {
      if (!isAllowed) return forbidden();
      const draft = await readDraft(request);
      const result = await editor.apply(draft);
      const wrote = `wrote ${JSON.stringify(draft.name)}`;
      return withOutcome(json(result), outcomeOf(result, wrote));
    },
    compare: async (request) =>
      json(await editor.compare(await readDraft(request))),
    history: () => json(editor.list()),
    compareWithPast: async (request) => {
      const body = await readJsonBody(request);
      return json(await editor.compareWithPast(textMember(body, "to")));
    },
    compareWithFiles: async () => json(await editor.compareWithFiles()),
    goBack: async (request) => {
      if (!isAllowed) return forbidden();
      const body = await readJsonBody(request);
      const to = textMember(body, "to");
      const result = await editor.goBack(to, textMember(body, "hash"));
      const wrote = `went back to ${JSON.stringify(to)}`;
      return withOutcome(json(result), outcomeOf(result, wrote));
    },
  };
}

/** Checks a draft until the client disconnects: editors cancel a check when the text changes. */
async function checkDraft(
  editor: ConfigurationEditor,
  request: Request,
): Promise<Response> {
  const { signal } = request;
  const draft = await readDraft(request);
  try {
    return json(await editor.check(draft, signal));
  } catch (error) {
    if (!signal.aborted) throw error;
    return text(503, "the client has disconnected");
  }
}

function forbidden(): Response {
  return text(403, 'forbidden: changes require "config.adminToken"');
}

function outcomeOf(
  { diagnostics, problem }: DraftResult,
  wrote: string,
): string {
  const [first, ...others] = diagnostics.filter(isError);
  if (problem !== undefined) return `rejected: ${problem}`;
  return first === undefined
    ? wrote
    : `rejected: ${others.length + 1} errors in ${JSON.stringify(first.file)}`;
}

async function readDraft(request: Request): Promise<Draft> {
  const body = await readJsonBody(request);
  return {
    hash: textMember(body, "hash"),
    name: textMember(body, "name"),
    text: textMember(body, "text"),
  };
}
