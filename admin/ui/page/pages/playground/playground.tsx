/** Tries what is behind the gateway: tools, models, expressions. */
import type { PageProps } from "../../navigation/page.ts";
import { remember } from "../../navigation/place.ts";
import { useMemo, useState } from "../../kit/framework.ts";
import { Tabs } from "../../kit/inputs.tsx";
import { PageHead, Problem } from "../../kit/layout.tsx";
import { useFetched } from "../../server/poll.ts";
import { useExchanges } from "./exchange_list.tsx";
import { LlmChat } from "./llm_chat.tsx";
import { type McpConnection, McpTools } from "./mcp_tools.tsx";
import { useTarget } from "./target_form.tsx";
import { type NamedTarget, targetsOf } from "./targets.ts";
import { TryExpression } from "./try_expression.tsx";

const tabs = [
  { value: "mcp", title: "MCP tools" },
  { value: "llm", title: "LLM chat" },
  { value: "expression", title: "Expression" },
] as const;

/** The page on which an operator sends requests of their own. */
export function Playground({ argument, status }: PageProps) {
  const { data: dump, problem } = useFetched("config", status.hash);
  const routes = useMemo(() => dump ? targetsOf(dump) : [], [dump]);
  const ports = [...new Set(dump?.listeners.map(({ port }) => port))];
  const log = useExchanges();
  const [connection, setConnection] = useState<McpConnection | undefined>(
    undefined,
  );
  const mcp = useTarget(first(routes, ({ isMcp }) => isMcp));
  const llm = useTarget(
    first(routes.map(chatTarget), ({ isLlm, isMcp }) => isLlm && !isMcp),
  );
  const tab = tabs.find(({ value }) => value === argument)?.value ?? "mcp";
  return (
    <>
      <PageHead
        title="Playground"
        about="Send requests through this gateway, with all its policies, and see what it does with them."
      />
      <Problem>{problem}</Problem>
      <Tabs
        label="Playground"
        options={tabs}
        value={tab}
        onChange={(next) => remember("playground", next)}
      >
        {tab === "mcp" && (
          <McpTools
            state={mcp}
            ports={ports}
            log={log}
            connection={connection}
            onConnect={setConnection}
          />
        )}
        {tab === "llm" && (
          <LlmChat
            state={llm}
            ports={ports}
            log={log}
            connection={connection}
          />
        )}
        {tab === "expression" && <TryExpression />}
      </Tabs>
    </>
  );
}

/** Lists those that fit; all, when none does. */
function first(
  routes: readonly NamedTarget[],
  fits: (target: NamedTarget) => boolean,
): readonly NamedTarget[] {
  const fitting = routes.filter(fits);
  return fitting.length > 0 ? fitting : routes;
}

function chatTarget(target: NamedTarget): NamedTarget {
  const base = target.url.replace(/\/$/, "");
  if (/\/v1\/./.test(base)) return target;
  const path = base.endsWith("/v1") ? "" : "/v1";
  return { ...target, url: `${base}${path}/chat/completions` };
}
