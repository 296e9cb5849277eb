/** The page of `gateway dev`: an MCP client of another origin that logs its user in, with every request. */
import { Code } from "../../kit/data.tsx";
import { signal } from "../../kit/framework.ts";
import { Button, Choice, Form } from "../../kit/inputs.tsx";
import {
  Badge,
  Message,
  PageHead,
  Problem,
  toneOfStatus,
} from "../../kit/layout.tsx";
import { messageOf } from "../../server/api.ts";
import {
  OAuthClient,
  type PendingLogin,
  readCallback,
} from "../playground/login.ts";
import { McpClient, McpProblem } from "../playground/mcp_client.ts";
import {
  hideSecrets,
  Recorder,
  type ShownMessage,
  type Step,
} from "./recorder.ts";

/** An MCP server that the user can log in to. */
interface Endpoint {
  readonly url: string;
  readonly rule: string;
  /** Without it, the page registers itself. */
  readonly clientId?: string;
}

/** State of the page while the browser is at the authorization server. */
interface Kept {
  readonly endpoint: Endpoint;
  readonly pending: PendingLogin;
  readonly chosen: { readonly provider: string; readonly user: string };
  readonly steps: readonly Step[];
}

/** Name under which a login is kept while the browser is at the authorization server. */
const KEY = "pending";

const providers = [
  { value: "IdpA", title: "IdpA: without resource indicators" },
  { value: "IdpB", title: "IdpB: with an issuer for each MCP server" },
];
const users = [
  { value: "ada", title: "ada, who may call the server" },
  { value: "guest", title: "guest, who may not" },
];

const chosen = signal<Kept["chosen"]>({ provider: "IdpA", user: "ada" });
const steps = signal<readonly Step[]>([]);
const message = signal("");
const problem = signal("");
const recorder = new Recorder(show);

if (location.pathname.endsWith("/callback")) void run(finish);

function show(step: Step): void {
  steps.value = [...steps.value, step];
}

/** Everything in the body of the document. */
export function LoginDemo() {
  const { provider, user } = chosen.value;
  return (
    <main>
      <PageHead
        title="An MCP client logs in"
        about="This page is an MCP client in your browser. It calls an MCP server behind the gateway, gets a login challenge, and shows every request that follows. The page has an origin of its own, so CORS has to allow all its requests."
      />
      <Form onSubmit={() => void run(begin)}>
        <Choice
          label="Identity provider"
          options={providers}
          value={provider}
          onChange={(provider) => chosen.value = { provider, user }}
        />
        <Choice
          label="User"
          options={users}
          value={user}
          onChange={(user) => chosen.value = { provider, user }}
        />
        <Button isMain isDisabled={message.value === RUNNING}>Run</Button>
      </Form>
      <Message>{message}</Message>
      <Problem>{problem}</Problem>
      <ol id="steps" class="stack">
        {steps.value.map((step, index) => (
          <StepPanel
            key={index}
            step={step}
          />
        ))}
      </ol>
    </main>
  );
}

const RUNNING = "Running…";

async function run(task: () => Promise<string>): Promise<void> {
  message.value = RUNNING;
  problem.value = "";
  try {
    message.value = await task();
  } catch (error) {
    message.value = "";
    problem.value = `Failed: ${messageOf(error)}`;
  }
}

/** Takes the steps before the user logs in, and goes to the authorization server. */
async function begin(): Promise<string> {
  steps.value = [];
  const { provider, user } = chosen.value;
  const endpoints: Readonly<Record<string, Endpoint>> =
    await (await fetch("endpoints.json")).json();
  const endpoint = endpoints[provider];
  if (endpoint === undefined) throw new Error(`no endpoint of ${provider}`);
  const challenge = await challengeOf(new McpClient(endpoint, recorder, {}));
  const { clientId = "" } = endpoint;
  const pending = await new OAuthClient(endpoint, recorder)
    // Shows the login page even if the provider remembers a user.
    .prepare(challenge, clientId, { prompt: "login", login_hint: user });
  if (clientId !== "") {
    show({
      title: "Registration",
      note:
        `Skipped: clients cannot register themselves at this provider. "${clientId}" was registered by hand, as in its console.`,
    });
  }
  const { origin, pathname, searchParams } = new URL(pending.url);
  show({
    title: "Login",
    note:
      "The browser goes to the page of the provider, with the hash of a secret that stays here (PKCE).",
    request: {
      line: `GET ${origin}${pathname}`,
      body: Object.fromEntries(searchParams),
    },
  });
  const kept: Kept = {
    ...{ endpoint, pending },
    ...{ chosen: chosen.value, steps: steps.value },
  };
  sessionStorage.setItem(KEY, JSON.stringify(kept));
  location.assign(pending.url);
  return "Going to the login page";
}

async function challengeOf(client: McpClient): Promise<string> {
  try {
    await client.initialize();
  } catch (error) {
    if (error instanceof McpProblem && error.challenge) return error.challenge;
    throw error;
  }
  throw new Error("the server requires no login");
}

/** Takes the steps after the user logged in. */
async function finish(): Promise<string> {
  const kept: Kept | null = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  sessionStorage.removeItem(KEY);
  const query = new URLSearchParams(location.search);
  // The code works only once; it need not stay in the history.
  history.replaceState(undefined, "", "/");
  if (kept === null) throw new Error("No login is in progress. Run it again");
  const { endpoint, pending } = kept;
  chosen.value = kept.chosen;
  steps.value = kept.steps;
  const back = {
    title: "Back from the login",
    note: pending.sendsIssuer
      ? "state is the one sent, and iss the expected issuer (RFC 9207)."
      : "state is the one sent.",
    request: {
      line: `GET ${location.origin}/callback`,
      body: hideSecrets(Object.fromEntries(query)),
    },
  };
  let code: string;
  try {
    code = readCallback(pending, query);
  } catch (error) {
    show({ ...back, error: messageOf(error) });
    throw error;
  }
  show(back);
  const token = await new OAuthClient(endpoint, recorder).redeem(pending, code);
  const authorization = `Bearer ${token}`;
  const client = new McpClient(endpoint, recorder, { authorization });
  try {
    await client.initialize();
  } catch (error) {
    if (!(error instanceof McpProblem) || error.status !== 403) throw error;
    return `Denied with 403: the token is valid, but the rule ${endpoint.rule} is false.`;
  }
  await client.callTool("echo", { message: "Hello" });
  return "Done: the MCP server was called.";
}

function StepPanel({ step }: { readonly step: Step }) {
  const { title, note, request, response, error } = step;
  const tone = error ? "bad" : toneOfStatus(response?.status ?? 200);
  const state = error ? "failed" : response?.line;
  return (
    <li class={`panel ${tone}`}>
      <details open>
        <summary>
          <h2>{title}</h2> {state && <Badge tone={tone}>{state}</Badge>}
        </summary>
        {note && <p class="quiet">{note}</p>}
        <div class="grid-2">
          {request && (
            <MessageText label={`Request: ${title}`} message={request} />
          )}
          {response && (
            <MessageText label={`Response: ${title}`} message={response} />
          )}
        </div>
        {error && <p class="problem">{error}</p>}
      </details>
    </li>
  );
}

interface MessageTextProps {
  readonly label: string;
  readonly message: ShownMessage;
}

function MessageText(
  { label, message: { line, headers = {}, body } }: MessageTextProps,
) {
  const fields = Object.entries(headers).map((pair) => pair.join(": "));
  const text = typeof body === "string" ? body : pretty(body);
  const lines = [line, ...fields, ...(text ? ["", text] : [])];
  return <Code label={label} value={lines.join("\n")} />;
}

/** Formats indented JSON, with lists of values on one line. */
function pretty(value: unknown): string | undefined {
  return JSON.stringify(value, null, 2)?.replace(
    /\[\n([^[\]{}]*)\n\s*\]/g,
    (_, items: string) => `[${items.trim().replaceAll(/\n\s*/g, " ")}]`,
  );
}
