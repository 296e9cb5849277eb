import { GatewayError } from "../../base/errors.ts";
import type { AttemptTarget, Destination } from "./attempt_target.ts";

const target: AttemptTarget = {
  label: "mcp:0",
  send() {
    const message = "Cannot send a request to MCP servers as it is";
    return Promise.reject(new GatewayError("internal", "gateway", message));
  },
};

/** The destination of an endpoint of MCP servers, which is in this process: each server has a destination of its own. */
export const mcpDestination: Destination = {
  retries: undefined,
  prepare: () => undefined,
  choose: () => target,
  hasAnother: () => false,
  connectFailed: () => {},
};
