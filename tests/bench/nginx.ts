import { freePort } from "../harness/process/free_port.ts";
import { type Neighbour, type Place, startProcess } from "./neighbours.ts";

/** A response of an LLM of about 300 bytes, with the usage that token counting reads. */
const answer = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  model: "gpt-4o",
  choices: [{
    index: 0,
    message: { role: "assistant", content: "Hello there. ".repeat(7) },
    finish_reason: "stop",
  }],
  usage: { prompt_tokens: 12, completion_tokens: 14, total_tokens: 26 },
});

/** Key and certificate in files, for the servers of a comparison over TLS. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/**
 * Starts nginx as an upstream with `/large` (64 KiB), `/missing` (404), and about 300 bytes elsewhere.
 * @param addresses Number of addresses from 127.0.0.1 that it listens on.
 */
export async function startUpstream(addresses = 1): Promise<Neighbour> {
  const root = await Deno.makeTempDir();
  await Deno.chmod(root, 0o755);
  await Deno.writeTextFile(`${root}/large`, "y".repeat(64 * 1024));
  return await startNginx("beside", (port) => `
    server {
      ${
    Array.from(
      { length: addresses },
      (_, index) => `listen 127.0.0.${index + 1}:${port};`,
    ).join(" ")
  }
      default_type application/json;
      location / { return 200 '${answer}'; }
      location = /large { root ${root}; open_file_cache max=8; }
      location = /missing { return 404; }
    }`);
}

/** Starts nginx as a reverse proxy with one worker and keep-alive to the upstream. */
export async function startNginxProxy(
  upstreamPort: number,
  tls?: TlsFiles,
): Promise<Neighbour> {
  const secure = tls === undefined
    ? ""
    : ` ssl http2; ssl_certificate ${tls.cert}; ssl_certificate_key ${tls.key}`;
  return await startNginx("alone", (port) => `
    upstream backend { server 127.0.0.1:${upstreamPort}; keepalive 64; keepalive_requests 1000000000; }
    server {
      listen 127.0.0.1:${port}${secure};
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

async function startNginx(
  place: Place,
  server: (port: number) => string,
): Promise<Neighbour> {
  const port = freePort();
  const directory = await Deno.makeTempDir();
  const config = `${directory}/nginx.conf`;
  // One process, whose CPU time is that of nginx.
  await Deno.writeTextFile(
    config,
    `master_process off; daemon off; pid ${directory}/pid; error_log ${directory}/error.log;
     events { worker_connections 4096; }
     http { access_log off; keepalive_requests 1000000000; client_body_temp_path ${directory}/body; ${
      server(port)
    } }`,
  );
  return await startProcess(["nginx", "-c", config], port, place);
}
