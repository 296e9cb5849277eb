import { freePort } from "../harness/free_port.ts";

/** A process of the benchmark, killed when it is disposed. */
export interface Neighbour extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
}

const JSON_ANSWER = JSON.stringify({ id: 1, message: "x".repeat(270) });

/** Starts nginx as an upstream with `/json` (about 300 bytes) and `/large` (64 KiB). */
export async function startUpstream(): Promise<Neighbour> {
  const large = "y".repeat(64 * 1024);
  const root = await Deno.makeTempDir();
  await Deno.writeTextFile(`${root}/json`, JSON_ANSWER);
  await Deno.writeTextFile(`${root}/large`, large);
  return await startNginx((port) => `
    server {
      listen 127.0.0.1:${port};
      location / { root ${root}; default_type application/json; open_file_cache max=8; }
    }`);
}

/** Starts nginx as a reverse proxy with one worker and keep-alive to the upstream. */
export async function startNginxProxy(
  upstreamPort: number,
): Promise<Neighbour> {
  return await startNginx((port) => `
    upstream backend { server 127.0.0.1:${upstreamPort}; keepalive 64; keepalive_requests 1000000000; }
    server {
      listen 127.0.0.1:${port};
      location / {
        proxy_pass http://backend;
        proxy_http_version 1.1;
        proxy_buffering off;
        proxy_set_header Connection "";
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $remote_addr;
        proxy_set_header X-Request-Id $request_id;
      }
    }`);
}

/** Starts the naive proxy: `Deno.serve` and `fetch`. */
export async function startNaiveProxy(
  upstreamPort: number,
): Promise<Neighbour> {
  return await startDeno("naive_proxy.ts", [String(upstreamPort)]);
}

/** Starts an upstream that streams events. */
export async function startEventUpstream(): Promise<Neighbour> {
  return await startDeno("event_upstream.ts", []);
}

/** Starts the gateway from `GATEWAY_BIN` or from source with one route to the upstream, plain without `policies`. */
export async function startGateway(
  upstreamPort: number,
  policies: Readonly<Record<string, unknown>> = {},
  settings: Readonly<Record<string, unknown>> = {},
): Promise<Neighbour> {
  const port = freePort();
  const config = {
    config: {
      adminAddr: "off",
      statsAddr: "off",
      accessLog: { enabled: false },
      ...settings,
    },
    gateways: { default: { port } },
    routes: [{
      name: "plain",
      backends: [{ host: `127.0.0.1:${upstreamPort}` }],
      policies,
    }],
  };
  const file = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(file, JSON.stringify(config));
  return await startGatewayFrom(file, port);
}

/** The gateway with the configuration of a file, which listens on `port`. */
export async function startGatewayFrom(
  file: string,
  port: number,
): Promise<Neighbour> {
  const [command, ...prefix] = gatewayCommand();
  return await startProcess(command, [...prefix, "-f", file], port);
}

/** Returns the command line of the gateway under test. */
export function gatewayCommand(): [string, ...string[]] {
  const packed = Deno.env.get("GATEWAY_BIN");
  if (packed !== undefined) return [packed];
  return [
    Deno.execPath(),
    "run",
    "-A",
    new URL("../../main.ts", import.meta.url).pathname,
  ];
}

async function startNginx(
  server: (port: number) => string,
): Promise<Neighbour> {
  const port = freePort();
  const directory = await Deno.makeTempDir();
  const config = `${directory}/nginx.conf`;
  await Deno.writeTextFile(
    config,
    `worker_processes 1; daemon off; user root; pid ${directory}/pid; error_log ${directory}/error.log;
     events { worker_connections 4096; }
     http { access_log off; keepalive_requests 1000000000; ${server(port)} }`,
  );
  return await startProcess("nginx", ["-c", config], port);
}

/** Starts a script of this folder with its port as argument. */
export async function startDeno(
  script: string,
  args: string[],
): Promise<Neighbour> {
  const port = freePort();
  const path = new URL(script, import.meta.url).pathname;
  return await startProcess(Deno.execPath(), [
    "run",
    "-A",
    path,
    String(port),
    ...args,
  ], port);
}

async function startProcess(
  command: string,
  args: string[],
  port: number,
): Promise<Neighbour> {
  const process = new Deno.Command(command, {
    args,
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  await untilListening(port);
  return {
    port,
    pid: process.pid,
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await process.status;
    },
  };
}

async function untilListening(port: number): Promise<void> {
  const giveUpAt = Date.now() + 60_000;
  for (;;) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
