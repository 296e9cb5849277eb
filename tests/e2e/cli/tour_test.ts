/** The tour of the documentation, repeated on a running playground. `GOLDEN=update` records it anew. */
import assert from "node:assert/strict";
import { freePort } from "../../harness/process/free_port.ts";
import { startCommand } from "../../harness/process/running_command.ts";

const page = new URL("../../../docs/tour.md", import.meta.url);
const program = Deno.env.get("GATEWAY_BIN") ??
  `${Deno.execPath()} run --quiet -A ${
    decodeURIComponent(new URL("../../../main.ts", import.meta.url).pathname)
  }`;

/** The addresses of the playground on the page, and here. */
interface Ports {
  readonly gateway: number;
  readonly admin: number;
}

/** Runs one command of the page in a shell; returns its output as the page shows it. */
async function record(command: string, ports: Ports): Promise<string> {
  const here = command
    .replaceAll("localhost:3000", `localhost:${ports.gateway}`)
    .replace(
      /^gwctl (?:proxy \w+|explain)/,
      `$& --admin 127.0.0.1:${ports.admin}`,
    );
  const script = `gwctl() { ${program} ctl "$@"; }\n${here}`;
  const { stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", script],
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return `${decoder.decode(stdout)}${decoder.decode(stderr)}`
    .replaceAll("\r", "")
    .replaceAll(`localhost:${ports.gateway}`, "localhost:3000")
    .replace(/[ \t]+$/gm, "")
    .trimEnd();
}

/** Runs all commands of the page in their order, but the one that starts the playground. */
async function replay(text: string, ports: Ports): Promise<string> {
  const parts = text.split(/(```console\n[\s\S]*?\n```)/);
  for (const [index, part] of parts.entries()) {
    if (index % 2 === 0 || part.includes("$ make run")) continue;
    const commands = part.matchAll(/^\$ ((?:.*\\\n)*.*)$/gm);
    const lines: string[] = [];
    for (const [shown, command = ""] of commands) {
      lines.push(shown, await record(command, ports));
    }
    parts[index] = `\`\`\`console\n${lines.join("\n")}\n\`\`\``;
  }
  return parts.join("");
}

/** Removes what differs from run to run: IDs, times, ports, and the widths of columns that they have. */
function lasting(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replace(/\d+(?:\.\d+)? ?(?:µs|ms|s)\b/g, "SPAN")
    .replace(/127\.0\.0\.1:\d+/g, "ADDRESS")
    .replace(/ +/g, " ");
}

Deno.test("the tour shows what a running playground does", async () => {
  const ports = { gateway: freePort(), admin: freePort() };
  await using playground = startCommand({
    args: [
      "dev",
      "--port",
      `${ports.gateway}`,
      "--admin",
      `127.0.0.1:${ports.admin}`,
      "--stats",
      "off",
    ],
  });
  await playground.waitFor(/Web UI/);
  const text = await Deno.readTextFile(page);

  const replayed = await replay(text, ports);

  if (Deno.env.get("GOLDEN") === "update") {
    await Deno.writeTextFile(page, replayed);
  } else {
    assert.equal(lasting(replayed), lasting(text));
  }
});
