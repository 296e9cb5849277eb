import assert from "node:assert/strict";
import { convertDocument } from "../../../src/mcp/openapi/document/convert_document.ts";
import { DocumentError } from "../../../src/mcp/openapi/document/openapi_document.ts";
import type {
  ConvertedDocument,
  RestTool,
} from "../../../src/mcp/openapi/document/rest_tool.ts";
import { CallCheck } from "./call_check.ts";
import {
  type DocumentedOperation,
  documentedOperations,
} from "./documented_operations.ts";
import type { EchoApi } from "./echo_api.ts";
import { randomOf } from "./sample_arguments.ts";

/** Result of the check of a document. */
export interface DocumentReport {
  /** Title and version of the API. */
  readonly title: string;
  /** Version of OpenAPI. */
  readonly version: string;
  readonly operations: number;
  readonly tools: number;
  /** Operations without a tool, by reason. */
  readonly refused: Readonly<Record<string, number>>;
  readonly calls: number;
  readonly values: number;
  readonly faults: readonly string[];
}

const SEED = 26;

/**
 * Converts a document and calls a sample of its tools with all arguments.
 * @param maxCalls Limit of the sample.
 */
export async function checkDocument(
  text: string,
  api: EchoApi,
  maxCalls: number,
): Promise<DocumentReport> {
  const nothing = {
    title: "",
    version: "?",
    operations: 0,
    tools: 0,
    calls: 0,
    values: 0,
  };
  let converted: ConvertedDocument;
  try {
    converted = convertDocument(text, {
      include: undefined,
      exclude: undefined,
    });
  } catch (error) {
    assert(error instanceof DocumentError, "only documents fail");
    return { ...nothing, refused: { [error.message]: 1 }, faults: [] };
  }
  const { title, version, operations, credentials } = documentedOperations(
    text,
  );
  const faults: string[] = converted.problems
    .filter(({ place }) => !/^#\/./.test(place))
    .map(({ place, message }) => `${place}: ${message} (names no place)`);
  const refused = refusedOperations(converted, operations, faults);
  let values = 0;
  const sample = sampled(converted.tools, maxCalls);
  for (const [at, tool] of sample.entries()) {
    try {
      const operation = operationOf(tool, operations);
      const check = new CallCheck(tool, operation, credentials, SEED + at);
      values += await check.run(api);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      faults.push(`${tool.definition.name}: ${error.message}`);
    }
  }
  return {
    title,
    version,
    operations: operations.length,
    tools: converted.tools.length,
    refused,
    calls: sample.length,
    values,
    faults,
  };
}

/** Chooses tools, the same in each run. */
function sampled(
  tools: readonly RestTool[],
  count: number,
): readonly RestTool[] {
  const random = randomOf(SEED);
  return tools.map((tool) => ({ tool, rank: random() }))
    .sort((left, right) => left.rank - right.rank)
    .slice(0, count).map(({ tool }) => tool);
}

/** Counts the operations without a tool; each has a problem that names its place. */
function refusedOperations(
  { tools, problems }: ConvertedDocument,
  operations: readonly DocumentedOperation[],
  faults: string[],
): Readonly<Record<string, number>> {
  const known = new Set(tools.map(({ call }) => targetOf(call)));
  const refused: Record<string, number> = {};
  for (const { method, path, place } of operations) {
    if (known.has(`${method} ${templateOf(path)}`)) continue;
    const isHidden = method === "OPTIONS" || method === "TRACE";
    const problem = problems.find((each) =>
      each.place === `${place}/${method.toLowerCase()}` || each.place === place
    );
    const reason = isHidden ? method : reasonOf(problem?.message);
    if (reason === undefined) faults.push(`${place}: no tool and no reason`);
    else refused[reason] = (refused[reason] ?? 0) + 1;
  }
  return refused;
}

/** Drops the place and the name of a reference, so that equal reasons are one. */
function reasonOf(message: string | undefined): string | undefined {
  return message?.replace(/^#\S+: /, "").replace(/^"[^"]*" is in/, "is in");
}

/** Finds the operation of a tool. Several have the same target if their paths differ only in a fragment or query. */
function operationOf(
  { call, definition }: RestTool,
  operations: readonly DocumentedOperation[],
): DocumentedOperation {
  const target = targetOf(call);
  const same = operations.filter(({ method, path }) =>
    `${method} ${templateOf(path)}` === target
  );
  const found = same.length === 1
    ? same[0]
    : same.find(({ operationId }) =>
      operationId?.replace(/[^A-Za-z0-9_-]+/g, "_") === definition.name
    );
  if (found === undefined) throw new Error(`"${target}" is no operation`);
  return found;
}

function targetOf({ method, path }: RestTool["call"]): string {
  return `${method} ${path}`;
}

function templateOf(path: string): string {
  return path.split(/[#?]/)[0] ?? "";
}
