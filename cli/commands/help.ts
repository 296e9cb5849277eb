import { logModules } from "../../src/base/log/log_filter.ts";

const EXIT_CODES = `
Exit codes: 0 success, 1 failure, 2 wrong usage; 130/143: stopped by a second SIGINT/SIGTERM (the first starts a graceful drain)`;

/** Description of `gateway`. */
export const GATEWAY = "HTTP gateway for MCP servers and LLM providers";

/** Shown below the options of `gateway`. */
export const GATEWAY_EXAMPLES = `
Examples:
  gateway dev                            try it out without configuration
  gateway -f gateway.yaml                run; the gateway reloads the file when it changes
  gateway -f conf.d/                     run with all .yaml, .yml and .json files of a directory
  gateway validate gateway.yaml          check only; --strict: warnings are errors
  gateway config diff gateway.yaml       show what would change in the running gateway
  gateway ctl proxy config all           show the configuration of the running gateway

A minimal configuration:
  gateways:
    default: {port: 3000}
  routes:
  - name: all
    backends: [{host: "127.0.0.1:9000"}]

SIGTERM and SIGINT shut down gracefully; a second one stops the process immediately. SIGHUP reloads the configuration.
The log goes to standard error, the access log to standard output.
${EXIT_CODES}`;

/** Shown below the options of `gateway config diff`. */
export const DIFF_EXAMPLES = `
Secrets are hidden on both sides, so a changed secret is no difference.

Examples:
  gateway config diff gateway.yaml              what the running gateway would change
  gateway config diff -p 15001 gateway.yaml
  gateway config diff old.yaml new.yaml         compare two files`;

/** Shown below the options of `gateway import`. */
export const IMPORT_EXAMPLES = `
Reports what could not be taken over, with its line. Routes that would be open
without it respond with 503.

Examples:
  gateway import config.yaml -o gateway.yaml
  gateway import claude_desktop_config.json -o gateway.yaml
  gateway import config.yaml | gateway validate -f -`;

/** Description of `gateway dev`. */
export const DEV = "Run a gateway with a demo MCP server and LLM server";

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
    # yaml-language-server: $schema=gateway.schema.json    as first line of gateway.yaml enables editor support`;

/** Description of `gwctl`. */
export const CONTROL = "Inspect a running gateway";

/** Examples of the commands of `gwctl`, and of `completion`; `name` is that of the program. */
const texts = {
  control: (name: string) => `
Examples:
  ${name} proxy config all
  ${name} proxy log --level debug
  ${name} proxy trace
  ${name} proxy config all gateway/example -n team    of a gateway in a cluster
  ${name} status -n team                              what is wrong in a cluster
${EXIT_CODES}`,
  config: (name: string) => `
Examples:
  ${name} proxy config all
  ${name} proxy config all -p 15001 -o json | jq .routes
  ${name} proxy config all --admin unix:/run/gateway/admin.sock
  curl -s localhost:15000/config_dump > dump.json
  ${name} proxy config all --file dump.json -o yaml`,
  keys: (name: string) => `
Examples:
  ${name} proxy keys
  ${name} proxy keys refresh             fetches them now, such as after a change of keys at the provider
  ${name} proxy keys -o json | jq '.keySets[] | select(.lastError)'`,
  access: (name: string) => `
Keys live in the store of "config.kv", and routes accept them with
"apiKeyAuthentication: {stored: true}". A change is in force in all processes
within a second. The key itself is shown once, on standard output.

Examples:
  ${name} teams create blue --budget 500usd/month --notify-at 80,100
  ${name} keys create --team blue --name ci --model 'gpt-4o*' --expires 90d
  ${name} keys list --team blue
  ${name} keys rotate key_5d2c9a41b7e08f36 --overlap 24h
  ${name} keys revoke key_5d2c9a41b7e08f36`,
  accounts: (name: string) => `
Examples:
  ${name} accounts list --backend default/drive
  ${name} accounts list --subject anna -o json
  ${name} accounts revoke 5d2c9a41b7e08f365d2c9a41b7e08f36`,
  grants: (name: string) => `
Examples:
  ${name} grants list --user anna
  ${name} grants list --client https://app.example.com/client.json -o json
  ${name} grants revoke 5d2c9a41b7e08f365d2c9a41b7e08f36
  ${name} grants revoke --user anna`,
  limits: (name: string) => `
For a limit with keys, LEFT and RESET are those of the key with the least remaining.

Examples:
  ${name} proxy limits
  ${name} proxy limits -p 15001 -o json | jq '.[] | select(.remaining == 0)'`,
  usage: (name: string) => `
In memory, the gateway keeps 32 days. In the store of "config.kv", it keeps 13
months by the day, across restarts and for all processes. Columns "server" and
"tool" are about calls of MCP tools, "model" and "provider" about LLMs; "tag" is
the field "tag" of the metadata of a key. UNCOUNTED are responses whose tokens
nobody could count. Days and months are those of UTC.

Examples:
  ${name} proxy usage
  ${name} proxy usage --by team --month
  ${name} proxy usage --by team,model --month 2026-07 -o csv > chargeback.csv
  ${name} proxy usage --by tool,user --since 7d
  ${name} proxy usage --by team --per month --from 2026-01-01`,
  explain: (name: string) => `
The gateway records recent requests that ended with 4xx or 5xx, without bodies
and credentials; see "config.failureMemory".

Examples:
  ${name} explain                          list recent failed requests
  ${name} explain 6f0c1a52-4e0f-4f29-b1ce-6a6a4c1ad7a4
  curl -si http://localhost:3000/ | grep x-request-id`,
  try: (name: string) => `
The gateway records requests without bodies and credentials: failures, and up to
50 others per second; see "config.requestMemory". It sends them through its
routes, rules and limits once more, at the time at which they came. Nothing
changes, and no request is sent. "undecided" are requests for which a rule reads
what is not recorded. Limits are unused at first; shared limits are not tried.

Examples:
  ${name} try rule 'llm.requestModel in apiKey.models' --against last=1000
  ${name} try rule 'mcp.tool.name == "delete"' --deny --route files
  ${name} try limit '{requests: 10, unit: Minutes, key: apiKey.team}'
  ${name} try config gateway.yaml -o json | jq .changes`,
  doctor: (name: string) => `
Works with any MCP server, also with one that is behind no gateway. It registers
a client named "gwctl mcp doctor" unless --client-id names one. The exit code is
1 when a check fails.

Examples:
  ${name} mcp doctor https://mcp.example.com/mcp
  ${name} mcp doctor https://mcp.example.com/mcp --login
  ${name} mcp doctor https://mcp.example.com/mcp --json | jq .clients`,
  backends: (name: string) => `
Examples:
  ${name} proxy backends
  ${name} proxy backends -o yaml`,
  profile: (name: string) => `
Examples:
  ${name} proxy profile cpu --seconds 10 -o cpu.pb.gz
  ${name} proxy profile heap -p 15001
    go tool pprof -top cpu.pb.gz           print it; -http=: shows it in a browser`,
  mcp: (name: string) => `
Examples:
  ${name} proxy mcp
  ${name} proxy mcp -o json | jq '.[] | select(.state == "failed")'`,
  lock: (name: string) => `
A lock file has the definitions of tools that you approve; see "lock" of the
backend. The exit code is 1 while tools wait for approval.

Examples:
  ${name} mcp lock                         what has changed, what is suspicious
  ${name} mcp lock --write mcp.lock.json   approve all tools as they are now`,
  approve: (name: string) => `
For backends with "lock: {trust: FirstUse}": prints how the tools differ from
what was approved, asks, and approves what it has printed.

Examples:
  ${name} mcp approve docs                      all tools of "docs" that wait
  ${name} mcp approve docs read_page            one of them
  ${name} mcp approve docs read_page --revoke   clients lose it again`,
  memory: (name: string) => `
Examples:
  ${name} proxy memory
  ${name} proxy memory -o json | jq .heap.usedBytes`,
  connections: (name: string) => `
A client is known while a request of its connection is under way, such as a
stream of events; others are idle.

Examples:
  ${name} proxy connections
  ${name} proxy connections -o json | jq '.[] | select(.ageMs > 3600000)'`,
  arms: (name: string) => `
An arm is a route with one of its backends; "(mirror)" marks one that gets
copies of requests, whose latency is that until the head of the response.

Examples:
  ${name} proxy arms --route smart
  ${name} proxy arms --range 24h -o json | jq '.[] | [.name, .costUsd / .requests]'`,
  tasks: (name: string) => `
Examples:
  ${name} proxy tasks
    ${name} proxy tasks --limit 20 -o yaml     includes idle connections, upstreams, keys and leases`,
  log: (name: string) => `
Examples:
    ${name} proxy log                        show the levels
    ${name} proxy log --level debug          set the default level
    ${name} proxy log --set proxy=trace --set request=off
    ${name} proxy log --reset                reset to the configured levels

Modules: ${logModules.join(", ")}`,
  trace: (name: string) => `
Examples:
    ${name} proxy trace                      trace the next request of any client
    ${name} proxy trace --follow             list requests as they come
  ${name} proxy trace --filter 'request.path.startsWith("/mcp")' --count 10
  ${name} proxy trace gateway/default -- http://api.example.com/mcp -H 'accept: application/json'
  ${name} proxy trace --raw > trace.jsonl
  ${name} proxy trace --file trace.jsonl

Arguments after -- describe a request to send. It goes to a listener on
127.0.0.1; the URL provides the Host header and, with several listeners, the
port, unless --port does. curl sends the request if it is on the PATH. Without
curl, these arguments are supported: -X -H -d -u -k -A -b -e -G -I --data-raw
--data-binary --json. The response body is discarded; -o <file> makes curl keep it.

Without a terminal, or with TERM unset or dumb, events are printed as lines of
text.

Exit codes: 0 success; 1 incomplete trace, or the request could not be sent;
2 wrong usage or invalid filter; 129, 130, 143: stopped by SIGHUP, SIGINT,
SIGTERM`,
  completion: (name: string) => `
Examples:
  bash: source <(${name} completion bash)                              in ~/.bashrc
  zsh:  source <(${name} completion zsh)                               in ~/.zshrc
  fish: ${name} completion fish > ~/.config/fish/completions/${name}.fish`,
};

/** Returns the examples of a command, shown below its options; empty if it has none. */
export function examplesOf(command: string, name: string): string {
  const text = Object.entries(texts).find(([known]) => known === command);
  return text?.[1](name) ?? "";
}
