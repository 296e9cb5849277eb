import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../base/json.ts";
import type { Log } from "../../base/log/log.ts";
import { ApiError, type KubernetesApi } from "../client/kubernetes_api.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";
import type { DesiredStatus } from "./status_sources.ts";

/** Longest note that the API server accepts, in bytes. */
const MAX_NOTE = 1024;
/** Events for one object: a status can have hundreds of conditions. */
const MAX_EVENTS = 5;

/** Dependencies of writing events. */
export interface StatusEventsOptions {
  readonly api: KubernetesApi;
  readonly log: Log;
  readonly controllerName: string;
  /** Name of this process. */
  readonly identity: string;
}

/** Writes an Event for each condition that has become false, for `kubectl describe` and those who watch Events. */
export class StatusEvents {
  readonly #options: StatusEventsOptions;
  #isForbidden = false;

  constructor(options: StatusEventsOptions) {
    this.#options = options;
  }

  /** Writes the events of a status that replaces that of its object; never rejects. @param now Milliseconds since the epoch. */
  async write(
    { object, status }: DesiredStatus,
    now: number,
    signal: AbortSignal,
  ): Promise<void> {
    const before = new Set(failuresIn(object["status"]).map(textOf));
    const failures = failuresIn(status).filter((each) =>
      !before.has(textOf(each))
    );
    for (const failure of failures.slice(0, MAX_EVENTS)) {
      if (this.#isForbidden || signal.aborted) return;
      await this.#create(object, failure, now, signal);
    }
  }

  async #create(
    object: KubernetesObject,
    { type, reason, message }: Failure,
    now: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { api, log, controllerName, identity } = this.#options;
    const { name, namespace = "default", uid } = object.metadata;
    try {
      await api.request({
        method: "POST",
        path: `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
        signal,
        body: {
          apiVersion: "events.k8s.io/v1",
          kind: "Event",
          metadata: { generateName: `${name.slice(0, 50)}.`, namespace },
          eventTime: new Date(now).toISOString().replace("Z", "000Z"),
          type: "Warning",
          action: type,
          reason,
          note: message.slice(0, MAX_NOTE / 4),
          regarding: {
            apiVersion: object.apiVersion,
            kind: object.kind,
            name,
            namespace,
            uid,
          },
          reportingController: controllerName,
          reportingInstance: identity.slice(0, 128),
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      this.#isForbidden = error instanceof ApiError && error.code === 403;
      log[this.#isForbidden ? "warn" : "debug"]("Cannot write an Event", {
        resource: objectKey(object),
        error,
      });
    }
  }
}

interface Failure {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

function textOf({ type, reason, message }: Failure): string {
  return JSON.stringify([type, reason, message]);
}

/** Returns the conditions of a status that are false, at any depth. */
function failuresIn(status: unknown): readonly Failure[] {
  if (Array.isArray(status)) return status.flatMap(failuresIn);
  if (!isJsonObject(status)) return [];
  return isFailure(status)
    ? [{
      type: stringMember(status, "type") ?? "",
      reason: stringMember(status, "reason") ?? "",
      message: stringMember(status, "message") ?? "",
    }]
    : Object.values(status).flatMap(failuresIn);
}

function isFailure({ type, status }: JsonObject): boolean {
  return typeof type === "string" &&
    status === (type === "Conflicted" ? "True" : "False");
}
