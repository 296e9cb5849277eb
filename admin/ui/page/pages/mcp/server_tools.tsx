/** The tools of one MCP server: those that wait for approval, and a form to try each. */
import type { UiStatus } from "../../../responses.ts";
import { Code, Fact, Facts, Sentence, Time } from "../../kit/data.tsx";
import { compact } from "../../kit/format.ts";
import { useState } from "../../kit/framework.ts";
import { Button } from "../../kit/inputs.tsx";
import { Badge, Empty, Problem, Section } from "../../kit/layout.tsx";
import type { Sample } from "../../server/metrics_text.ts";
import { messageOf, postJson } from "../../server/api.ts";
import { useFetched } from "../../server/poll.ts";
import { countCalls } from "./call_counts.ts";
import type { ListedTool, McpServer } from "./listed_server.ts";
import { TryTool } from "./try_tool.tsx";
import { Suspicions, WaitingTools } from "./waiting_tools.tsx";

interface ServerToolsProps {
  readonly server: McpServer;
  readonly samples: readonly Sample[];
  readonly status: UiStatus;
  readonly onApproved: () => void;
}

/** Everything about one server. */
export function ServerTools(
  { server, samples, status, onApproved }: ServerToolsProps,
) {
  const [version, setVersion] = useState(0);
  const { backend, name, tools, held, since } = server;
  const path = `mcp/tools?${new URLSearchParams({
    backend,
    server: name,
  })}` as const;
  const { data, problem } = useFetched(
    path,
    `${version} ${tools} ${held} ${since}`,
  );
  const listed = data?.servers[0];
  const onChanged = () => {
    setVersion(version + 1);
    onApproved();
  };
  const canApprove = status.server === "admin" && !status.readOnly;
  return (
    <>
      <Section title={name}>
        <ServerFacts server={server} />
        <Problem>{problem || listed?.error}</Problem>
        {data !== undefined && listed === undefined && (
          <Empty title="Its tools depend on the user">
            The server gets tokens of the caller, and lists tools for each.
          </Empty>
        )}
      </Section>
      {listed && (
        <WaitingTools
          backend={backend}
          listed={listed}
          canApprove={canApprove}
          onApproved={onChanged}
        />
      )}
      {listed && listed.tools.length > 0 && (
        <ToolList
          server={server}
          tools={listed.tools}
          samples={samples}
          status={status}
          onRevoked={canApprove && listed.approval === "firstUse"
            ? onChanged
            : undefined}
        />
      )}
    </>
  );
}

function ServerFacts({ server }: { readonly server: McpServer }) {
  const { address, era, state, since, lastError, lastErrorAt } = server;
  return (
    <Facts>
      <Fact name="Address">{address}</Fact>
      <Fact name="State">
        {state} {since && (
          <>
            since <Time at={since} />
          </>
        )}
      </Fact>
      <Fact name="Protocol">
        {era === null
          ? undefined
          : era === "legacy"
          ? "up to 2025-11-25"
          : "2026-07-28"}
      </Fact>
      {lastError !== null && (
        <Fact name="Last error">
          {lastError} {lastErrorAt && <Time at={lastErrorAt} />}
        </Fact>
      )}
    </Facts>
  );
}

interface ToolListProps {
  readonly server: McpServer;
  readonly tools: readonly ListedTool[];
  readonly samples: readonly Sample[];
  readonly status: UiStatus;
  /** Set where the approval of a tool can be revoked. */
  readonly onRevoked: (() => void) | undefined;
}

function ToolList(
  { server, tools, samples, status, onRevoked }: ToolListProps,
) {
  const first = tools.find(({ held }) => held === undefined) ?? tools[0];
  const [chosen, choose] = useState(first?.name);
  const tool = tools.find(({ name }) => name === chosen);
  return (
    <Section
      title="Tools"
      about={tools.length === 1 ? "1 tool" : `${compact(tools.length)} tools`}
    >
      <div class="tool-columns">
        <ul class="tools" aria-label="Tools">
          {tools.map((each) => (
            <li key={each.name}>
              <Button
                isPressed={each.name === chosen}
                onPress={() => choose(each.name)}
              >
                {each.name}
                {each.held && (
                  <>
                    {" "}
                    <Badge tone="warn">{each.held}</Badge>
                  </>
                )}
                {each.suspicions && (
                  <>
                    {" "}
                    <Badge tone="warn">!</Badge>
                  </>
                )}
              </Button>
            </li>
          ))}
        </ul>
        {tool && (
          <ToolDetails
            key={tool.name}
            server={server}
            tool={tool}
            samples={samples}
            status={status}
            onRevoked={onRevoked}
          />
        )}
      </div>
    </Section>
  );
}

interface ToolDetailsProps extends Omit<ToolListProps, "tools"> {
  readonly tool: ListedTool;
}

function ToolDetails(
  { server, tool, samples, status, onRevoked }: ToolDetailsProps,
) {
  const { backend, name } = server;
  const { definition } = tool;
  const { calls, errors } = countCalls(samples, {
    backend,
    server: name,
    tool: tool.name,
  });
  const { description, inputSchema, outputSchema } = definition;
  return (
    <div class="stack">
      {typeof description === "string" && (
        <p class="description">
          <Sentence text={description} />
        </p>
      )}
      <Suspicions tool={tool} />
      {onRevoked && tool.held === undefined && (
        <RevokeTool server={server} tool={tool} onRevoked={onRevoked} />
      )}
      <Facts>
        <Fact name="Name at the server">{String(definition["name"])}</Fact>
        <Fact name="Calls">{compact(calls)}</Fact>
        <Fact name="Errors">{compact(errors)}</Fact>
      </Facts>
      <details>
        <summary>Schema of its arguments</summary>
        <Code value={inputSchema} label={`Schema of ${tool.name}`} />
      </details>
      {outputSchema !== undefined && (
        <details>
          <summary>Schema of its results</summary>
          <Code value={outputSchema} label={`Results of ${tool.name}`} />
        </details>
      )}
      {status.server === "admin" && (
        <TryTool backend={backend} tool={tool} hash={status.hash} />
      )}
    </div>
  );
}

interface RevokeToolProps {
  readonly server: McpServer;
  readonly tool: ListedTool;
  readonly onRevoked: () => void;
}

/** A button that holds a tool back until somebody approves it again. */
function RevokeTool(
  { server: { backend, name: server }, tool, onRevoked }: RevokeToolProps,
) {
  const [problem, setProblem] = useState("");
  const revoke = async () => {
    try {
      const tools = [tool.definition["name"]];
      await postJson("mcp/revoke", { backend, server, tools });
      onRevoked();
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <div>
      <Problem>{problem}</Problem>
      <Button
        label={`Revoke approval of ${tool.name}`}
        onPress={() => void revoke()}
      >
        Revoke approval
      </Button>
    </div>
  );
}
