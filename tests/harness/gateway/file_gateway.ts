import { join } from "node:path";
import { fileSource } from "../../../mod.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { LogLines } from "../telemetry/log_lines.ts";

/** A gateway in this process that watches a file in its own folder. */
export interface FileGateway extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly folder: string;
  readonly log: LogLines;
}

/** Creates a folder with one file, `gateway.yaml`. */
export async function createConfigFolder(
  config: unknown,
): Promise<{ folder: string; file: string }> {
  const folder = await Deno.makeTempDir();
  const file = join(folder, "gateway.yaml");
  await replaceFile(file, config);
  return { folder, file };
}

/** Replaces a file atomically; values other than strings are written as JSON, which is YAML. */
export async function replaceFile(
  file: string,
  content: unknown,
): Promise<void> {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const draft = `${file}.draft`;
  await Deno.writeTextFile(draft, text);
  await Deno.rename(draft, file);
}

/** Starts a gateway on a file or folder; disposing it removes `folder`. */
export async function followFile(
  folder: string,
  spec: string,
): Promise<FileGateway> {
  const log = new LogLines();
  const gateway = await Gateway.start({
    config: fileSource(spec),
    writeLog: (line) => log.add(line),
  });
  await log.next(/Configuration applied/);
  return {
    gateway,
    folder,
    log,
    async [Symbol.asyncDispose]() {
      await gateway.stop(0);
      await Deno.remove(folder, { recursive: true });
    },
  };
}
