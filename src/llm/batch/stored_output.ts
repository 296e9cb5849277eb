import { plainPath } from "../plain_path.ts";

/** Output of an earlier request, which clients may read any number of times. */
export interface StoredOutput {
  /** A response of OpenAI, a batch, a list of batches, or the results of a batch, one in each line. */
  readonly kind: "response" | "batch" | "batches" | "results";
  /** Empty for a list. */
  readonly id: string;
}

/** Returns the key under which an output is charged: another backend cannot have it charged by naming it. */
export function outputKey(
  { host, port }: {
    readonly host: string | undefined;
    readonly port: number | undefined;
  },
  { kind, id }: StoredOutput,
): string {
  // A batch and its results are charged once.
  const group = kind === "response" ? "response" : "batch";
  return `${host}:${port} ${group} ${id}`;
}

/** Part of all these paths, and of few others: every request is compared with it. */
const hint = /responses|batch|files/i;
const ID = String.raw`([\w.-]{1,256})`;
/** Anthropic's batches are no `batch`: their usage is in the results only. */
const paths: readonly (readonly [StoredOutput["kind"], RegExp])[] = [
  ["response", pathOf(`responses/${ID}`)],
  ["results", pathOf(`messages/batches/${ID}/results`)],
  ["results", pathOf(`files/${ID}/content`)],
  ["results", pathOf(`files/${ID}:download`)],
  ["batch", pathOf(`(?:batches|batch/jobs)/${ID}`)],
  ["batches", pathOf("batches()")],
];

/** Reads `/v1/responses/resp_1`, `/v1/batches/b_1`, `/v1/files/f_1/content`, and others; `undefined` for other requests. */
export function readStoredOutput(
  method: string,
  target: string,
): StoredOutput | undefined {
  if (method !== "GET") return undefined;
  const path = plainPath(target);
  if (!hint.test(path)) return undefined;
  for (const [kind, pattern] of paths) {
    const [, id] = pattern.exec(path) ?? [];
    if (id !== undefined) return { kind, id };
  }
  return undefined;
}

const batchCreation = pathOf(
  "(?:batches|batch/jobs|[^/]+:batchGenerateContent)",
);
const batchControl = pathOf(`(?:files|(?:batches|batch/jobs)/${ID}/cancel)`);

/** Reports whether a request uploads the input of a batch, creates a batch, or cancels it: the response has no usage. */
export function isBatchControl(method: string, target: string): boolean {
  return method === "POST" && matches(target, batchCreation, batchControl);
}

/** Reports whether a request creates a batch, whose requests name their models. */
export function isBatchCreation(method: string, target: string): boolean {
  return method === "POST" && matches(target, batchCreation);
}

function matches(target: string, ...patterns: readonly RegExp[]): boolean {
  const path = plainPath(target);
  return hint.test(path) && patterns.some((pattern) => pattern.test(path));
}

/** Many servers ignore a slash at the end. */
function pathOf(end: string): RegExp {
  return new RegExp(`/${end}/?$`, "i");
}
