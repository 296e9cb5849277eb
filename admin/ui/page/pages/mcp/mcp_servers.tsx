/** MCP servers behind the endpoints of the gateway, and their tools. */
import { Time } from "../../kit/data.tsx";
import { compact, latency } from "../../kit/format.ts";
import { useMemo } from "../../kit/framework.ts";
import {
  Badge,
  Empty,
  PageHead,
  Problem,
  type Tone,
} from "../../kit/layout.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import type { PageProps } from "../../navigation/page.ts";
import { linkTo } from "../../navigation/place.ts";
import { parseMetrics, type Sample } from "../../server/metrics_text.ts";
import { usePolled } from "../../server/poll.ts";
import { CALL_METRICS, callTime, countCalls } from "./call_counts.ts";
import type { McpServer } from "./listed_server.ts";
import { ServerTools } from "./server_tools.tsx";

const tones: Readonly<Record<McpServer["state"], Tone>> = {
  up: "good",
  failed: "bad",
  unused: "quiet",
};

/** The page of MCP servers; its argument names one, such as `default/mcp/backend0 docs`. */
export function McpServers({ argument, status }: PageProps) {
  const { data, error, refresh } = usePolled("mcp/servers", 3000);
  const metrics = usePolled(CALL_METRICS, 3000, parseMetrics);
  const servers = data.value?.servers;
  const shown = servers?.find((each) => placeOf(each) === argument);
  return (
    <>
      <PageHead
        title="MCP servers"
        about="Servers behind the MCP endpoints of this gateway: state, tools, calls, and tools that wait for approval."
      />
      <Problem>{error}</Problem>
      {servers?.length === 0 && (
        <Empty title="No backend has MCP servers" isPanel>
          Add <code>mcp: &#123; servers: [...] &#125;</code>{" "}
          to the backends of a route; the servers and their tools appear here.
        </Empty>
      )}
      {servers !== undefined && servers.length > 0 && (
        <section class="panel flush">
          <ServerTable
            servers={servers}
            samples={metrics.data.value ?? []}
            selected={argument}
          />
        </section>
      )}
      {shown
        ? (
          <ServerTools
            key={argument}
            server={shown}
            samples={metrics.data.value ?? []}
            status={status}
            onApproved={refresh}
          />
        )
        : argument !== "" && servers !== undefined && (
          <Empty title="No such server" isPanel>
            The configuration has no server <code>{argument}</code> any more.
          </Empty>
        )}
    </>
  );
}

/** Returns the argument of the address for a server. */
function placeOf(
  { backend, name }: Pick<McpServer, "backend" | "name">,
): string {
  return `${backend} ${name}`;
}

interface ServerTableProps {
  readonly servers: readonly McpServer[];
  readonly samples: readonly Sample[];
  readonly selected: string;
}

function ServerTable({ servers, samples, selected }: ServerTableProps) {
  const columns = useMemo(() => columnsOf(samples), [samples]);
  return (
    <Table
      label="MCP servers"
      columns={columns}
      rows={servers}
      keyOf={placeOf}
      isSelected={(each) => placeOf(each) === selected}
    />
  );
}

function columnsOf(samples: readonly Sample[]): readonly Column<McpServer>[] {
  const selectionOf = ({ backend, name }: McpServer) => ({
    backend,
    server: name,
  });
  const countsOf = (each: McpServer) => countCalls(samples, selectionOf(each));
  return [
    [
      "Server",
      (each) => <a href={linkTo("mcp", placeOf(each))}>{each.name}</a>,
    ],
    ["Backend", ({ backend }) => backend],
    ["State", ({ state }) => <Badge tone={tones[state]}>{state}</Badge>],
    ["Tools", ({ tools }) => compact(tools), "number"],
    ["Waiting", (each) => <Waiting count={each.held} />, "number"],
    ["Suspicious", (each) => <Waiting count={each.suspicious} />, "number"],
    ["Calls", (each) => compact(countsOf(each).calls), "number"],
    ["Errors", (each) => compact(countsOf(each).errors), "number"],
    [
      "p50",
      (each) => latency(callTime(samples, selectionOf(each), 0.5)),
      "number",
    ],
    [
      "p95",
      (each) => latency(callTime(samples, selectionOf(each), 0.95)),
      "number",
    ],
    ["Last error", (each) => <LastError server={each} />, "wide"],
  ];
}

function Waiting({ count }: { readonly count: number | null }) {
  return count === null || count === 0
    ? <>{compact(count)}</>
    : <Badge tone="warn">{compact(count)}</Badge>;
}

function LastError({ server }: { readonly server: McpServer }) {
  const { lastError, lastErrorAt } = server;
  if (lastError === null) return <>–</>;
  return (
    <>
      {lastError} {lastErrorAt && <Time at={lastErrorAt} />}
    </>
  );
}
