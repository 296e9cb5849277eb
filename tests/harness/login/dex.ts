import assert from "node:assert/strict";
import { hashSync } from "bcryptjs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import {
  blocksOf,
  type DocumentedAddress,
  type LocalProvider,
} from "../gateway/documented_gateway.ts";
import { freePort } from "../process/free_port.ts";
import { LogLines } from "../telemetry/log_lines.ts";

/** Starts the Dex in `DEX` with the documented configuration and the user `ada@example.com`, for a gateway at `address`. */
export async function startDex(
  { url }: DocumentedAddress,
): Promise<LocalProvider> {
  const program = Deno.env.get("DEX");
  assert(program, 'DEX is not set: use "make interop-dex"');
  await using opening = new AsyncDisposableStack();
  const folder = opening.adopt(
    await Deno.makeTempDir(),
    (folder) => Deno.remove(folder, { recursive: true }),
  );
  const origin = `http://127.0.0.1:${freePort()}`;
  const [, documented = ""] = blocksOf("Dex", "yaml");
  const configuration = {
    ...parse(
      documented.replaceAll("https://dex.example.com", origin)
        .replaceAll("https://mcp.example.com", new URL(url).origin),
    ),
    storage: { type: "memory" },
    web: { http: new URL(origin).host },
    enablePasswordDB: true,
    staticPasswords: [{
      email: "ada@example.com",
      username: "ada",
      userID: "ada",
      hash: hashSync("ada", 10),
    }],
  };
  const file = join(folder, "dex.yaml");
  await Deno.writeTextFile(file, stringify(configuration));
  const log = new LogLines();
  const child = new Deno.Command(program, {
    args: ["serve", file],
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const ended = Promise.all([
    log.addAll(child.stdout),
    log.addAll(child.stderr),
    child.status,
  ]);
  opening.defer(async () => {
    child.kill();
    await ended;
  });
  await log.next(/listening on/);
  const open = opening.move();
  return {
    origin,
    issuer: configuration.issuer,
    clientId: "my-client",
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
