import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { MAX_TRIED, type Trial } from "../../src/gateway/trials.ts";
import { json, text } from "../http/admin_responses.ts";
import { isProtected } from "../access/check_admin_token.ts";
import { InvalidParameter } from "../http/query_parameters.ts";
import type { AdminTarget } from "../target/target.ts";
import { readTypedJson, textMember } from "../http/request_body.ts";

/** Says what a rule, a limit or a configuration would change on the newest requests; nothing changes. @throws {InvalidParameter} */
export async function tryChange(
  { trials, settings }: Pick<AdminTarget, "trials" | "settings">,
  request: Request,
): Promise<Response> {
  const body = await readTypedJson(request);
  const trial = readTrial(body);
  // The answers of rules in files tell about the environment, which files may refer to.
  const isOpen = trial.kind === "rule" || trial.kind === "limit";
  if (!isOpen && !isProtected(settings)) {
    return text(
      403,
      'forbidden: trials of configurations require "config.adminToken"',
    );
  }
  const last = readLast(body["last"]);
  if (trials === undefined) {
    return text(409, "this gateway has no configuration files");
  }
  const answer = await trials.run(trial, last);
  return "problem" in answer ? text(400, answer.problem) : json(answer);
}

function readLast(last: unknown = MAX_TRIED): number {
  const isValid = typeof last === "number" && Number.isInteger(last) &&
    last >= 1 && last <= MAX_TRIED;
  if (isValid) return last;
  throw new InvalidParameter(
    `invalid last: expected a whole number from 1 to ${MAX_TRIED}`,
  );
}

function readTrial(body: JsonObject): Trial {
  const { rule, action = "Allow", limit, files, draft } = body;
  const route = body["route"] === undefined
    ? undefined
    : textMember(body, "route");
  const given = [rule, limit, files, draft].filter((each) =>
    each !== undefined
  );
  if (given.length !== 1) {
    throw new InvalidParameter(
      'invalid body: expected one of "rule", "limit", "files" and "draft"',
    );
  }
  if (rule !== undefined) {
    const policy = { matchExpressions: [textMember(body, "rule")] };
    return { kind: "rule", authorization: { action, policy }, route };
  }
  if (limit !== undefined) {
    return { kind: "limit", rateLimit: { local: [limit] }, route };
  }
  if (isJsonObject(draft)) {
    return {
      kind: "draft",
      draft: {
        hash: textMember(draft, "hash"),
        name: textMember(draft, "name"),
        text: textMember(draft, "text"),
      },
    };
  }
  if (!Array.isArray(files) || !files.every(isJsonObject)) {
    throw new InvalidParameter(
      'invalid body: expected "files" with the "name" and "text" of each',
    );
  }
  return {
    kind: "config",
    files: files.map((file) => ({
      name: textMember(file, "name"),
      text: textMember(file, "text"),
    })),
  };
}
