import { Cancellation, sleep } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { TASKS_EXTENSION } from "../protocol/revisions.ts";
import { RPC, RpcFailure } from "../protocol/rpc_messages.ts";
import {
  type InputRequests,
  ownSide,
  type RequestSide,
} from "./server_connection.ts";

/** Sends a request to the server of a task. */
type Send = (
  method: string,
  params: JsonObject,
  side: RequestSide,
) => Promise<JsonObject>;

const MIN_POLL_MS = 50;
const DEFAULT_POLL_MS = 1000;
const MAX_POLL_MS = 10_000;
const CANCEL_MS = 5000;

/**
 * Runs a tool as a task of 2025-11-25, for a client that wants its result.
 * @throws {RpcFailure} For a server that creates no task.
 */
export async function runLegacyTask(
  send: Send,
  params: JsonObject,
  side: RequestSide,
  clock: Clock,
): Promise<JsonObject> {
  const created = await send("tools/call", { ...params, task: {} }, side);
  const { task } = created;
  const taskId = isJsonObject(task) ? task["taskId"] : undefined;
  if (typeof taskId !== "string") throw noTask();
  return await untilOver(
    send,
    taskId,
    side,
    clock,
    "pollInterval",
    (state) =>
      state["status"] === "working"
        ? Promise.resolve(undefined)
        // It asks the client, if that is what the task waits for.
        : send("tasks/result", { taskId }, side),
  );
}

/** Waits for the result of a task of the extension for 2026-07-28. @throws {RpcFailure} When the task fails. */
export async function finishModernTask(
  send: Send,
  created: JsonObject,
  side: RequestSide,
  clock: Clock,
): Promise<JsonObject> {
  const { taskId } = created;
  if (typeof taskId !== "string") throw noTask();
  const asked = new Set<string>();
  return await untilOver(
    send,
    taskId,
    side,
    clock,
    "pollIntervalMs",
    async (state) => {
      const { status, result, error, inputRequests } = state;
      if (status === "completed" && isJsonObject(result)) return result;
      if (status === "failed" || status === "cancelled") {
        throw failureOf(status, error);
      }
      const open = openRequests(inputRequests, asked);
      if (Object.keys(open).length === 0) return undefined;
      for (const key of Object.keys(open)) asked.add(key);
      const inputResponses = await side.ask(open);
      await send("tasks/update", { taskId, inputResponses }, side);
      return undefined;
    },
  );
}

/** Reports whether a server rejects a call for the reason that its client takes no tasks. */
export function needsTasks(error: unknown): boolean {
  if (!(error instanceof RpcFailure)) return false;
  const { code, data } = error;
  const needed = isJsonObject(data) ? data["requiredCapabilities"] : undefined;
  return code === RPC.MISSING_CAPABILITY && takesTasks(needed);
}

/** Reports whether capabilities of a client of 2026-07-28 have tasks. */
export function takesTasks(capabilities: unknown): boolean {
  const extensions = isJsonObject(capabilities)
    ? capabilities["extensions"]
    : undefined;
  return isJsonObject(extensions) && isJsonObject(extensions[TASKS_EXTENSION]);
}

/** Polls a task until `read` returns its result; cancels it when the client does not want it any more. */
async function untilOver(
  send: Send,
  taskId: string,
  side: RequestSide,
  clock: Clock,
  interval: "pollInterval" | "pollIntervalMs",
  read: (state: JsonObject) => Promise<JsonObject | undefined>,
): Promise<JsonObject> {
  try {
    for (;;) {
      const state = await send("tasks/get", { taskId }, side);
      const result = await read(state);
      if (result !== undefined) return result;
      const { [interval]: wanted } = state;
      const pollMs = typeof wanted === "number" ? wanted : DEFAULT_POLL_MS;
      await sleep(
        clock,
        Math.min(Math.max(pollMs, MIN_POLL_MS), MAX_POLL_MS),
        side.cancellation,
      );
    }
  } finally {
    if (side.cancellation.cancelled) cancelTask(send, taskId, clock);
  }
}

function cancelTask(send: Send, taskId: string, clock: Clock): void {
  const limit = new Cancellation();
  const stop = clock.setTimer(() => limit.cancel(noTask()), CANCEL_MS);
  // The server ends the task by itself, if it does not learn of this.
  send("tasks/cancel", { taskId }, ownSide(limit)).catch(() => {}).finally(
    stop,
  );
}

function openRequests(
  requests: unknown,
  asked: ReadonlySet<string>,
): InputRequests {
  if (!isJsonObject(requests)) return {};
  return Object.fromEntries(
    Object.entries(requests).flatMap(([key, request]) => {
      if (asked.has(key) || !isJsonObject(request)) return [];
      const { method, params } = request;
      return typeof method !== "string" ? [] : [[key, {
        method,
        ...(isJsonObject(params) && { params }),
      }]];
    }),
  );
}

function failureOf(status: string, error: unknown): RpcFailure {
  const { code, message, data } = isJsonObject(error)
    ? error
    : { code: undefined, message: undefined, data: undefined };
  return new RpcFailure(
    typeof code === "number" ? code : RPC.INTERNAL_ERROR,
    typeof message === "string" ? message : `The task is ${status}`,
    data,
  );
}

function noTask(): RpcFailure {
  return new RpcFailure(RPC.INTERNAL_ERROR, "The server has created no task");
}
