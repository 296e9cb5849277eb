import { textBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { mcpMessage } from "../expressions/expression_slots.ts";
import { contentProblem } from "../expressions/readable_content.ts";
import { errorMessage, readRequestId } from "../mcp/json_rpc.ts";
import type { PolicyContext } from "../contract/policy.ts";

/** JSON-RPC 2.0; MCP has it for tools and prompts that a client cannot use. */
const INVALID_PARAMS = -32602;
const INVALID_REQUEST = -32600;

/**
 * Returns HTTP 200 with a JSON-RPC error for the request, as JSON, or as an event for clients that accept nothing else.
 *
 * `undefined` where nobody would read it: for anything but a JSON-RPC request, and for clients of HTTP+SSE, which only read the status
 * of responses to their posts.
 */
export async function jsonRpcDenial(
  { request, slots }: PolicyContext,
): Promise<ResponseMessage | undefined> {
  if (request.method !== "POST" || request.upgrade !== undefined) {
    return undefined;
  }
  const accept = request.headers.getJoined("accept")?.toLowerCase() ?? "*/*";
  const acceptsEvents = accept.includes("text/event-stream");
  const isLegacy = !acceptsEvents && legacyTarget.test(request.target);
  if (isLegacy || contentProblem(request.headers) !== undefined) {
    return undefined;
  }
  const id = await readRequestId(request);
  if (id === undefined) return undefined;
  const { tool, prompt, resource } = slots.get(mcpMessage) ?? {};
  const hasTarget = (tool ?? prompt ?? resource) !== undefined;
  const message = errorMessage(
    id,
    hasTarget ? INVALID_PARAMS : INVALID_REQUEST,
    "the request is not allowed",
  );
  const isJson = !acceptsEvents ||
    /application\/(?:json|\*)|\*\/\*/.test(accept);
  return {
    status: 200,
    headers: HeaderList.from([
      ["content-type", isJson ? "application/json" : "text/event-stream"],
      ["cache-control", "no-store"],
    ]),
    body: textBody(isJson ? message : `event: message\ndata: ${message}\n\n`),
  };
}

/** Targets of messages in HTTP+SSE: servers name the session in the query. */
const legacyTarget = /[?&]session_?id=/i;
