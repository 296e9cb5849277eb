import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { RPC, writeError } from "../protocol/rpc_messages.ts";
import { jsonResponse } from "../streams/rpc_answer.ts";

/** Responds to notifications and responses. */
export function accepted(): ResponseMessage {
  return { status: 202, headers: new HeaderList(), body: undefined };
}

/** Responds while the worker with the processes restarts. */
export function restarting(): ResponseMessage {
  const message = "The worker with the processes of MCP servers restarts";
  const response = failed(503, RPC.SERVER_ERROR, message);
  response.headers.append("retry-after", "1");
  return response;
}

/** Responds to GET and DELETE without a session; clients of the transport before 2025-03-26 begin so. */
export function withoutSession(): ResponseMessage {
  return notAllowed(
    "Method not allowed without Mcp-Session-Id: the endpoint has Streamable HTTP, not HTTP+SSE of 2024-11-05",
  );
}

/** Responds to other methods than POST. */
export function notAllowed(message = "Method not allowed"): ResponseMessage {
  const response = failed(405, RPC.SERVER_ERROR, message);
  response.headers.append("allow", "POST");
  return response;
}

/** Responds with an error of JSON-RPC, to a request that has no id or none that can be read. */
export function failed(
  status: number,
  code: number,
  message: string,
): ResponseMessage {
  return jsonResponse(writeError(null, { code, message }), status);
}
