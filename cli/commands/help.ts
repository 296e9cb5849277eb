import { logModules } from "../log_modules.ts";

const EXIT_CODES = `
Exit codes: 0 success, 1 failure, 2 wrong usage; 130 and 143 when SIGINT or SIGTERM ended it at once: a gateway drains at the first`;

/** What the program is. */
export const GATEWAY = "HTTP gateway for MCP servers and LLM providers";

/** Shown below the options of `gateway`. */
export const GATEWAY_EXAMPLES = `
Examples:
  gateway dev                            try it out, with nothing to configure
  gateway -f gateway.yaml                run; changes of the file take effect at once
  gateway -f conf.d/                     run with every .yaml, .yml and .json file of a directory
  gateway -f gateway.yaml --validate-only
  gateway ctl proxy config all           what the running gateway does

The smallest configuration:
  gateways:
    default: {port: 3000}
  routes:
  - name: all
    backends: [{host: "127.0.0.1:9000"}]

SIGTERM and SIGINT shut down gracefully; the second one ends the process at once. SIGHUP reads the configuration again.
The log goes to standard error, one line per request to standard output.
${EXIT_CODES}`;

/** What `gateway dev` is. */
export const DEV =
  "Run a gateway with an MCP server and an LLM server to try it on";

/** Shown below the options of `gateway dev`. */
export const DEV_EXAMPLES = `
Examples:
  gateway dev
  gateway dev --port 8080
  curl http://localhost:3000/v1/models   in another terminal`;

/** Shown below the options of `gateway schema`. */
export const SCHEMA_EXAMPLES = `
Examples:
  gateway schema --markdown | less
  gateway schema > gateway.schema.json
  # yaml-language-server: $schema=gateway.schema.json    as first line of gateway.yaml: your editor then helps`;

/** What `gwctl` is. */
export const CONTROL = "Look into a running gateway";

/** Shown below the options of `gwctl`. */
export function controlExamples(name: string): string {
  return `
Examples:
  ${name} proxy config all
  ${name} proxy log --level debug
  ${name} proxy trace
${EXIT_CODES}`;
}

/** Shown below the options of `gwctl proxy config all`. */
export function configExamples(name: string): string {
  return `
Examples:
  ${name} proxy config all
  ${name} proxy config all -p 15001 -o json | jq .routes
  ${name} proxy config all --admin unix:/run/gateway/admin.sock
  curl -s localhost:15000/config_dump > dump.json
  ${name} proxy config all --file dump.json -o yaml`;
}

/** Shown below the options of `gwctl proxy limits`. */
export function limitsExamples(name: string): string {
  return `
Of a limit with keys, LEFT and RESET are those of the key with the least left.

Examples:
  ${name} proxy limits
  ${name} proxy limits -p 15001 -o json | jq '.[] | select(.remaining == 0)'`;
}

/** Shown below the options of `gwctl explain`. */
export function explainExamples(name: string): string {
  return `
The gateway remembers the last requests that ended with 4xx or 5xx, without
their bodies and credentials; see "config.failureMemory".

Examples:
  ${name} explain                          the requests that failed last
  ${name} explain 6f0c1a52-4e0f-4f29-b1ce-6a6a4c1ad7a4
  curl -si http://localhost:3000/ | grep x-request-id`;
}

/** Shown below the options of `gwctl mcp doctor`. */
export function doctorExamples(name: string): string {
  return `
Works with any MCP server, also with one that is behind no gateway. It registers
a client named "gwctl mcp doctor" unless --client-id names one. The exit code is
1 when a check fails.

Examples:
  ${name} mcp doctor https://mcp.example.com/mcp
  ${name} mcp doctor https://mcp.example.com/mcp --login
  ${name} mcp doctor https://mcp.example.com/mcp --json | jq .clients`;
}

/** Shown below the options of `gwctl proxy config backends`. */
export function backendsExamples(name: string): string {
  return `
Examples:
  ${name} proxy config backends
  ${name} proxy config backends -o yaml`;
}

/** Shown below the options of `gwctl proxy profile cpu` and `heap`. */
export function profileExamples(name: string): string {
  return `
Examples:
  ${name} proxy profile cpu --seconds 10 -o cpu.pb.gz
  ${name} proxy profile heap -p 15001
  go tool pprof -top cpu.pb.gz           what it holds; -http=: shows it in a browser`;
}

/** Shown below the options of `gwctl proxy memory`. */
export function memoryExamples(name: string): string {
  return `
Examples:
  ${name} proxy memory
  ${name} proxy memory -o json | jq .heap.usedBytes`;
}

/** Shown below the options of `gwctl proxy tasks`. */
export function tasksExamples(name: string): string {
  return `
Examples:
  ${name} proxy tasks
  ${name} proxy tasks --limit 20 -o yaml     with connections that wait, upstreams, keys and leases`;
}

/** Shown below the options of `gwctl proxy log`. */
export function logExamples(name: string): string {
  return `
Examples:
  ${name} proxy log                        show the levels
  ${name} proxy log --level debug          everything
  ${name} proxy log --set proxy=trace --set request=off
  ${name} proxy log --reset                back to the configured levels

Modules: ${logModules.join(", ")}`;
}

/** Shown below the options of `gwctl proxy trace`. */
export function traceExamples(name: string): string {
  return `
Examples:
  ${name} proxy trace                      the next request of any client
  ${name} proxy trace --filter 'request.path.startsWith("/mcp")' --count 10
  ${name} proxy trace gateway/default -- http://api.example.com/mcp -H 'accept: application/json'
  ${name} proxy trace --raw > trace.jsonl
  ${name} proxy trace --file trace.jsonl

After -- comes a request to send: it goes to the listener on 127.0.0.1, and the
host of the URL is only its Host header; of several listeners, the one that the
URL or --port names. curl sends it, with all its arguments,
when it is on the PATH and this program may start it, which the packed executable
may not; else known are -X -H -d -u -k -A -b -e -G -I --data-raw --data-binary
--json. The body of the answer is discarded; -o <file> makes curl keep it.

Without a terminal, or with TERM unset or dumb, events are printed as lines of
text.

Exit codes: 0 success, 1 no trace or only a part of it, or the request could not
be sent, 2 wrong usage or a filter that cannot be read; 129, 130 and 143 when
SIGHUP, SIGINT or SIGTERM ended it`;
}

/** Shown below the options of `completion`. */
export function completionExamples(name: string): string {
  return `
Examples:
  bash: source <(${name} completion bash)                              in ~/.bashrc
  zsh:  source <(${name} completion zsh)                               in ~/.zshrc
  fish: ${name} completion fish > ~/.config/fish/completions/${name}.fish`;
}

/** Follows the message about an option that stands too early. */
export const OPTIONS_FOLLOW =
  '(options follow the command, as in "gwctl explain -p 15000")\n';
