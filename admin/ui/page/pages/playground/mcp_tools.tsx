/** Lists and calls the tools of an MCP server behind the gateway. */
import { Sentence } from "../../kit/data.tsx";
import { useState } from "../../kit/framework.ts";
import { Button, Field } from "../../kit/inputs.tsx";
import { Empty, Message, Problem, Section } from "../../kit/layout.tsx";
import { messageOf } from "../../server/api.ts";
import { ExchangeList, type ExchangeLog } from "./exchange_list.tsx";
import { OAuthClient, waitForCode } from "./login.ts";
import { McpClient, McpProblem, type Tool } from "./mcp_client.ts";
import { TargetForm, type TargetState } from "./target_form.tsx";
import { ToolForm } from "./tool_form.tsx";
import { ToolResult } from "./tool_result.tsx";

/** A session with an MCP server. */
export interface McpConnection {
  readonly client: McpClient;
  readonly server: string;
  readonly tools: readonly Tool[];
}

interface McpToolsProps {
  readonly state: TargetState;
  readonly ports: readonly number[];
  readonly log: ExchangeLog;
  readonly connection: McpConnection | undefined;
  readonly onConnect: (connection: McpConnection | undefined) => void;
}

/** The tab for MCP. */
export function McpTools(
  { state, ports, log, connection, onConnect }: McpToolsProps,
) {
  const [clientId, setClientId] = useState("");
  const { message, problem, login, connect } = useConnect(
    { state, log, onConnect },
    clientId,
  );
  return (
    <>
      <TargetForm
        label="MCP server"
        state={state}
        ports={ports}
        onSubmit={() => void connect()}
        more={
          <Field label="Client ID, for servers without registration">
            <input
              value={clientId}
              onInput={({ currentTarget }) => setClientId(currentTarget.value)}
            />
          </Field>
        }
      >
        <Button isMain isDisabled={state.target.url === ""}>Connect</Button>
      </TargetForm>
      <Problem>{problem}</Problem>
      <Message>{message}</Message>
      {login && !connection && <LoginSection url={login} />}
      {connection
        ? <Tools connection={connection} />
        : !login && (
          <Empty title="Call tools as an MCP client does" isPanel>
            Choose a route and connect. Requests go through the gateway with all
            its policies; if the server demands a login, you log in with your
            browser.
          </Empty>
        )}
      <ExchangeList list={log.list} />
    </>
  );
}

/** Connects, and logs in where the server demands it. */
function useConnect(
  { state, log, onConnect }: Pick<McpToolsProps, "state" | "log" | "onConnect">,
  clientId: string,
) {
  const [message, setMessage] = useState("");
  const [problem, setProblem] = useState("");
  const [login, setLogin] = useState<string | undefined>(undefined);
  const { exchanges, leaving } = log;

  const connect = async (token?: string) => {
    onConnect(undefined);
    setProblem("");
    setMessage("Connecting…");
    try {
      const client = new McpClient(state.target, exchanges, {
        ...state.headers,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      });
      const server = await client.initialize();
      onConnect({ client, server, tools: await client.listTools() });
      setMessage("");
      setLogin(undefined);
    } catch (error) {
      setMessage("");
      const canLogIn = error instanceof McpProblem && error.status === 401 &&
        token === undefined && /^bearer/i.test(error.challenge);
      if (canLogIn) await prepareLogin(error.challenge);
      else setProblem(messageOf(error));
    }
  };
  const prepareLogin = async (challenge: string) => {
    try {
      const client = new OAuthClient(state.target, exchanges);
      const pending = await client.prepare(challenge, clientId);
      setLogin(pending.url);
      waitForCode(pending, leaving)
        .then((code) => client.redeem(pending, code))
        .then(connect).catch((error: unknown) => {
          if (leaving.aborted) return;
          setLogin(undefined);
          setProblem(messageOf(error));
        });
    } catch (error) {
      setProblem(`The server demands a login. ${messageOf(error)}`);
    }
  };
  return { message, problem, login, connect };
}

function LoginSection({ url }: { readonly url: string }) {
  return (
    <Section
      title="The server demands a login"
      about="OAuth with PKCE, as MCP clients do it. This page goes on when the other tab is back."
    >
      <div class="row">
        <a class="button main" href={url} target="_blank" rel="noopener">
          Log in at {new URL(url).host}
        </a>
      </div>
    </Section>
  );
}

function Tools({ connection }: { readonly connection: McpConnection }) {
  const { client, server, tools } = connection;
  const [name, setName] = useState(tools[0]?.name);
  const tool = tools.find((each) => each.name === name);
  return (
    <Section
      title={server}
      about={tools.length === 1 ? "1 tool" : `${tools.length} tools`}
    >
      {tools.length === 0
        ? (
          <Empty title="No tools">
            The server offers none, or rules about <code>mcp.tool</code>{" "}
            hide them from this client.
          </Empty>
        )
        : (
          <div class="tool-columns">
            <ul class="tools" aria-label="Tools">
              {tools.map((each) => (
                <li key={each.name}>
                  <Button
                    isPressed={each.name === name}
                    onPress={() => setName(each.name)}
                  >
                    {each.name}
                  </Button>
                </li>
              ))}
            </ul>
            {tool && <ToolCall key={tool.name} tool={tool} client={client} />}
          </div>
        )}
    </Section>
  );
}

interface ToolCallProps {
  readonly tool: Tool;
  readonly client: McpClient;
}

function ToolCall({ tool, client }: ToolCallProps) {
  const [result, setResult] = useState<unknown>(undefined);
  const [problem, setProblem] = useState("");
  const [isCalling, setCalling] = useState(false);
  const call = async (given: unknown) => {
    setProblem("");
    setResult(undefined);
    setCalling(true);
    try {
      setResult(await client.callTool(tool.name, given));
    } catch (error) {
      setProblem(messageOf(error));
    }
    setCalling(false);
  };
  return (
    <div class="stack">
      {tool.description && (
        <p>
          <Sentence text={tool.description} />
        </p>
      )}
      <ToolForm tool={tool} isBusy={isCalling} onCall={(it) => void call(it)} />
      <Problem>{problem}</Problem>
      {result !== undefined && <ToolResult result={result} />}
    </div>
  );
}
