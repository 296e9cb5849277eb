#!/usr/bin/env node
// Becomes the executable of this platform, which is in a package of its own.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { basename } from "node:path";
import process from "node:process";

const platform = `${process.platform}-${process.arch}`;
const suffix = process.platform === "win32" ? ".exe" : "";

function findExecutable() {
  try {
    return createRequire(import.meta.url).resolve(
      `@SCOPE@/${platform}/gateway${suffix}`,
    );
  } catch {
    process.stderr.write(
      `Cannot find the gateway for ${platform}: install without --omit=optional, or take an executable from @HOMEPAGE@\n`,
    );
    process.exit(1);
  }
}

const file = findExecutable();
const isGwctl = basename(process.argv[1]).startsWith("gwctl");
const args = [...(isGwctl ? ["ctl"] : []), ...process.argv.slice(2)];

// Node 22.15 can replace itself, which keeps the process ID.
if (typeof process.execve === "function" && suffix === "") {
  process.execve(file, [file, ...args]);
}
const child = spawn(file, args, { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  process.stderr.write(`Cannot start the gateway: ${error.message}\n`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
