import type { Cancellation } from "../../base/cancellation.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { readMessage, RPC, type RpcMessage } from "../protocol/rpc_messages.ts";
import type { RpcText } from "../direct/rpc_text.ts";
import type { SeesTools } from "../servers/server_connection.ts";
import { headerOf } from "./arrival.ts";
import { failed } from "./endpoint_responses.ts";

/** An HTTP request to the endpoint. */
export interface EndpointRequest {
  readonly method: string;
  readonly headers: HeaderList;
  /** Empty without a body. */
  readonly text: RpcText;
  /** Identity of the caller; sessions and states of other callers are unknown to it. */
  readonly user: string;
  /** Names of the client for shares of a server's connections; see `RequestMessage`. */
  readonly owners: readonly string[];
  /** As in `RequestSide`. */
  readonly sees?: SeesTools | undefined;
  /** Cancelled when the client leaves before the response. */
  readonly cancellation: Cancellation;
}

/** Handles a request in another worker; resolves to `undefined` if that has ended. */
export type RelayRequest = (
  worker: number,
  request: EndpointRequest,
) => Promise<ResponseMessage | undefined>;

/** Handles a request in the worker that has to, if that is another one; otherwise resolves to `undefined`. */
export type RelayTo = (
  worker: number | undefined,
  request: EndpointRequest,
) => Promise<ResponseMessage | undefined>;

/** Reports whether the body of a request says that it is JSON. */
export function isJson(headers: HeaderList): boolean {
  const type = headerOf(headers, "content-type") ?? "";
  return type === "application/json" ||
    /^application\/json\s*(?:;|$)/i.test(type);
}

/** Reads the messages of a `POST`; there is at least one. Returns the response to a body without. */
export function readMessages(
  { headers, text }: EndpointRequest,
): readonly RpcMessage[] | ResponseMessage {
  if (!isJson(headers)) {
    return failed(
      415,
      RPC.SERVER_ERROR,
      "Content-Type must be application/json",
    );
  }
  const { value } = text;
  if (value === undefined) {
    return failed(400, RPC.PARSE_ERROR, "Parse error");
  }
  const values = Array.isArray(value) ? value : [value];
  const messages = values.map(readMessage).filter((each) => each !== undefined);
  if (messages.length < values.length || messages.length === 0) {
    return failed(400, RPC.INVALID_REQUEST, "Invalid request");
  }
  return messages;
}
