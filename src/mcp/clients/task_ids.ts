import { Buffer } from "node:buffer";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";
import type { Seal } from "../../base/sealed_values.ts";
import { exposeResult } from "../names/exposed_content.ts";
import type { McpSealPurpose } from "./list_cursors.ts";
import { META, metaOf } from "../protocol/revisions.ts";
import type { McpServer } from "../servers/federated_server.ts";

/** A task, as its server knows it. */
export interface TaskPlace {
  /** Name of the server. */
  readonly server: string;
  readonly id: string;
}

const MAX_LENGTH = 4096;

/**
 * Ids of tasks, as clients know them: they name the server, and are signed for the user. So no table is needed, the same task has
 * always the same id, and nobody can use the task of another user, however the server recognizes its clients.
 */
export class TaskIds {
  readonly #seal: Seal<McpSealPurpose>;

  constructor(seal: Seal<McpSealPurpose>) {
    this.#seal = seal;
  }

  /** Returns the id of a task for a user; fits in a header. */
  idFor(user: string, { server, id }: TaskPlace): string {
    const text = JSON.stringify([server, id]);
    const signature = this.#seal.sign("task", `${user}\n${text}`);
    return `${Buffer.from(text, "utf8").toString("base64url")}.${signature}`;
  }

  /** Reads an id; `undefined` if it is none of this user. */
  find(user: string, id: string): TaskPlace | undefined {
    const [encoded = "", signature = "", ...rest] = id.split(".");
    if (id.length > MAX_LENGTH || rest.length > 0) return undefined;
    const text = Buffer.from(encoded, "base64url").toString("utf8");
    if (!this.#seal.isSigned("task", `${user}\n${text}`, signature)) {
      return undefined;
    }
    const value = parseJson(text);
    const [server, task] = Array.isArray(value) ? value : [];
    return typeof server === "string" && typeof task === "string"
      ? { server, id: task }
      : undefined;
  }

  /** Returns a result, or parameters of a notification, with the ids and URIs that the user knows. */
  expose(user: string, server: McpServer, value: JsonObject): JsonObject {
    const idOf = (id: string) => this.idFor(user, { server: server.name, id });
    const { taskId, task, result } = value;
    const { [META.RELATED_TASK]: related, ...meta } = metaOf(value);
    const relatedId = isJsonObject(related) ? related["taskId"] : undefined;
    return {
      ...value,
      ...(typeof taskId === "string" && { taskId: idOf(taskId) }),
      ...(isJsonObject(task) && { task: this.expose(user, server, task) }),
      ...(typeof taskId === "string" && isJsonObject(result) &&
        {
          result: exposeResult("tools/call", server.settings.prefix, result),
        }),
      ...(typeof relatedId === "string" && {
        _meta: {
          ...meta,
          [META.RELATED_TASK]: { taskId: idOf(relatedId) },
        },
      }),
    };
  }
}

/** Reports whether parameters of a notification are about one of these tasks. @param ids As clients know them. */
export function isAbout(
  ids: ReadonlySet<string>,
  { taskId }: JsonObject,
): boolean {
  return typeof taskId === "string" && ids.has(taskId);
}
