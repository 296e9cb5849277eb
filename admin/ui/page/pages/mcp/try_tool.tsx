/** Calls a tool through the gateway, as a client does. */
import { useMemo, useState } from "../../kit/framework.ts";
import { Field } from "../../kit/inputs.tsx";
import { Empty, Problem } from "../../kit/layout.tsx";
import { messageOf } from "../../server/api.ts";
import { useFetched } from "../../server/poll.ts";
import { ExchangeList, useExchanges } from "../playground/exchange_list.tsx";
import { McpClient, type Tool } from "../playground/mcp_client.ts";
import { readHeaders } from "../playground/target_form.tsx";
import type { Target } from "../playground/relay.ts";
import { targetsOf } from "../playground/targets.ts";
import { ToolForm } from "../playground/tool_form.tsx";
import { ToolResult } from "../playground/tool_result.tsx";
import type { ListedTool } from "./listed_server.ts";

interface TryToolProps {
  /** Key of the backend. */
  readonly backend: string;
  readonly tool: ListedTool;
  /** Of the configuration. */
  readonly hash: string | null;
}

/** A form for the arguments, the result, and the requests with their traces. */
export function TryTool({ backend, tool, hash }: TryToolProps) {
  const { data: dump, problem: noRoutes } = useFetched("config", hash ?? "");
  const targets = useMemo(() => {
    const all = dump ? targetsOf(dump) : [];
    return all.filter(({ backends }) => backends.includes(backend));
  }, [dump, backend]);
  const [url, setUrl] = useState<string>();
  const [headers, setHeaders] = useState("");
  const target = targets.find((each) => each.url === url) ?? targets[0];
  const { call, list, result, problem, isBusy } = useCall(tool.name);
  if (tool.held !== undefined) {
    return <p class="quiet">Clients can call this tool once it is approved.</p>;
  }
  if (target === undefined) {
    return dump
      ? (
        <Empty title="No route leads here">
          The tool can be tried once a route has this backend.
        </Empty>
      )
      : <Problem>{noRoutes}</Problem>;
  }
  return (
    <>
      <h3>Try it</h3>
      <div class="row">
        {targets.length > 1 && (
          <Field label="Route">
            <select
              value={target.url}
              onChange={({ currentTarget }) => setUrl(currentTarget.value)}
            >
              {targets.map(({ name, url }) => (
                <option key={url} value={url}>{name}</option>
              ))}
            </select>
          </Field>
        )}
        <Field label="Headers, one per line" isWide>
          <textarea
            rows={1}
            value={headers}
            spellcheck={false}
            placeholder="authorization: Bearer …"
            onInput={({ currentTarget }) => setHeaders(currentTarget.value)}
          />
        </Field>
      </div>
      <ToolForm
        tool={formOf(tool)}
        isBusy={isBusy}
        onCall={(given) => void call(target, headers, given)}
      />
      <Problem>{problem}</Problem>
      {result !== undefined && <ToolResult result={result} />}
      <ExchangeList list={list} />
    </>
  );
}

/** Calls a tool, one call after the other; keeps the last result, and all requests. */
function useCall(tool: string) {
  const [result, setResult] = useState<unknown>(undefined);
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const { exchanges, list } = useExchanges();
  const call = async (target: Target, headers: string, given: unknown) => {
    setBusy(true);
    setProblem("");
    setResult(undefined);
    try {
      const client = new McpClient(target, exchanges, readHeaders(headers));
      await client.initialize();
      setResult(await client.callTool(tool, given));
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  };
  return { call, list, result, problem, isBusy };
}

function formOf({ name, definition }: ListedTool): Tool {
  const { inputSchema } = definition;
  return { name, inputSchema: Object(inputSchema) };
}
