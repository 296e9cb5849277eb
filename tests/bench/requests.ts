import { createAuthority } from "../harness/login/certificates.ts";
import { compareWithOthers, memoryRow, Others } from "./contenders.ts";
import type { Repetition } from "./jwt.ts";
import { compare, load, type Target } from "./measure.ts";
import { startGateway } from "./neighbours.ts";
import type { TlsFiles } from "./nginx.ts";
import { type Row, row } from "./row.ts";

const chatPath = "/v1/chat/completions";

/** Compares GET requests with small and large responses. */
export async function* getRows(
  upstreamPort: number,
  repetition: Repetition,
): AsyncGenerator<Row> {
  await using others = await Others.start(upstreamPort);
  await using target = await startGateway(upstreamPort);
  const small = { name: "GET 300 B", target, requests: {} };
  yield* await compareWithOthers(others, [small], repetition, 0.55);
  const requests = { path: "/large" };
  const large = { name: "GET 64 KiB", target, requests };
  yield* await compareWithOthers(others, [large], repetition, 0.55);
  yield await memoryRow("GET", target.pid);
}

/** Compares POST requests: forwarded only, with their tokens counted, and with a rule that reads MCP messages. */
export async function* postRows(
  upstreamPort: number,
  repetition: Repetition,
): AsyncGenerator<Row> {
  await using others = await Others.start(upstreamPort);
  await using plain = await startGateway(upstreamPort);
  await using guarded = await startGateway(upstreamPort, {
    authorization: { policy: { matchExpressions: ["mcp.tool.name == 'x'"] } },
  });
  for (
    const [size, bytes] of [["66 B", 66], ["1 KiB", 1024], [
      "16 KiB",
      16384,
    ]] as const
  ) {
    const what = `POST ${size}`;
    const body = chat(bytes);
    yield* await compareWithOthers(
      others,
      [
        { name: what, target: plain, requests: { body } },
        {
          name: `${what}, tokens counted`,
          target: plain,
          requests: { body, path: chatPath },
        },
        {
          name: `${what}, mcp rule`,
          target: guarded,
          requests: { body: toolCall(bytes) },
        },
      ],
      repetition,
      0.5,
    );
  }
  yield* await postToGetRows(plain, repetition);
  yield await memoryRow("POST", plain.pid);
}

/** Compares requests over TLS: HTTP/1.1, keep-alive. */
export async function* httpsRows(
  upstreamPort: number,
  repetition: Repetition,
): AsyncGenerator<Row> {
  const tls = await createTlsFiles();
  await using others = await Others.start(upstreamPort, tls);
  const listener = { protocol: "HTTPS", tls };
  await using gateway = await startGateway(upstreamPort, {}, {}, listener);
  const target = { ...gateway, scheme: "https" } as const;
  const get = { name: "HTTPS GET 300 B", target, requests: {} };
  yield* await compareWithOthers(others, [get], repetition, 0.42);
  const requests = { body: chat(1024) };
  const post = { name: "HTTPS POST 1 KiB", target, requests };
  yield* await compareWithOthers(others, [post], repetition, 0.42);
  yield await memoryRow("HTTPS", target.pid);
}

async function postToGetRows(
  gateway: Target,
  { rounds, seconds }: Repetition,
): Promise<Row[]> {
  const body = chat(66);
  const rows: Row[] = [];
  for (
    const [what, path] of [
      ["POST 66 B / GET", "/json"],
      ["POST 66 B, tokens counted / GET", chatPath],
    ] as const
  ) {
    const { perCpu, cpuMicros } = await compare(
      () => load(gateway, seconds),
      () => load(gateway, seconds, { path, body }),
      rounds,
    );
    rows.push(row(what, perCpu, "x", { atLeast: 0.9 }, cpuMicros));
  }
  return rows;
}

/** Returns a request of `bytes` bytes to an LLM. */
export function chat(bytes: number): string {
  return padded(bytes, (content) => ({
    model: "gpt-4o",
    messages: [{ role: "user", content }],
  }));
}

/** Returns an MCP message of `bytes` bytes that calls tool `x`. */
function toolCall(bytes: number): string {
  return padded(bytes, (text) => ({
    method: "tools/call",
    params: { name: "x", arguments: { text } },
  }));
}

function padded(bytes: number, create: (text: string) => unknown): string {
  const { length } = JSON.stringify(create(""));
  return JSON.stringify(create("x".repeat(Math.max(0, bytes - length))));
}

/** Issues a certificate for the servers of a comparison. */
export async function createTlsFiles(): Promise<TlsFiles> {
  const authority = await createAuthority();
  const { cert, key } = await authority.issueServer(["127.0.0.1"]);
  const directory = await Deno.makeTempDir();
  const files = { cert: `${directory}/cert.pem`, key: `${directory}/key.pem` };
  await Deno.writeTextFile(files.cert, cert);
  await Deno.writeTextFile(files.key, key);
  return files;
}
