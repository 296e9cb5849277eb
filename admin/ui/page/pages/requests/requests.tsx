/** The live log of requests. */
import type { RequestPage } from "../../../../../src/telemetry/requests/logged_request.ts";
import type { PageProps } from "../../navigation/page.ts";
import { linkTo, remember } from "../../navigation/place.ts";
import { number, percent } from "../../kit/format.ts";
import { useRef } from "../../kit/framework.ts";
import { Button } from "../../kit/inputs.tsx";
import { Empty, PageHead, Problem } from "../../kit/layout.tsx";
import { getJson } from "../../server/api.ts";
import { useRepeated } from "../../server/poll.ts";
import { RequestDrawer } from "./request_drawer.tsx";
import { RequestFilters } from "./request_filters.tsx";
import { RequestList } from "./request_list.tsx";
import { addPage, MAX_REQUESTS } from "./request_line.ts";
import {
  noFilter,
  queryOf,
  readView,
  type RequestView,
  writeView,
} from "./request_view.ts";

const INTERVAL_MS = 1000;

/** The page of requests, with the one that is open. */
export function Requests({ argument }: PageProps) {
  const view = readView(argument);
  const { filter, open } = view;
  const change = (next: Partial<RequestView>) =>
    remember("requests", writeView({ ...view, ...next }));
  const query = queryOf(filter);
  const { data, error } = useRepeated<RequestPage>(
    query,
    INTERVAL_MS,
    async (signal, log) =>
      addPage(
        log,
        await getJson(
          `requests?${query}&limit=${MAX_REQUESTS}&since=${log?.takenAt ?? 0}`,
          signal,
        ),
      ),
  );
  // Another filter keeps the last list on the page until the next has arrived.
  const latest = useRef<{ log: RequestPage; query: string } | undefined>(
    undefined,
  );
  if (data.value !== undefined) latest.current = { log: data.value, query };
  const shown = latest.current?.log;
  return (
    <>
      <PageHead
        title="Requests"
        about="Requests as they end: failures, and up to 50 successes per second. Open one for its times, cause and advice."
      />
      <Problem>{error}</Problem>
      <RequestFilters
        filter={filter}
        requests={shown?.requests ?? []}
        onChange={(filter) => change({ filter })}
      />
      {latest.current && (
        <RequestList
          requests={latest.current.log.requests}
          filterKey={latest.current.query}
          about={coverage(latest.current.log)}
          open={open}
          onOpen={(record) => change({ open: record })}
          whenEmpty={latest.current.query === ""
            ? <NoRequests />
            : <NoMatch onClear={() => change({ filter: noFilter })} />}
        />
      )}
      {open !== undefined && (
        <RequestDrawer
          key={open}
          record={open}
          line={shown?.requests.find(({ record }) => record === open)}
          onClose={() => change({ open: undefined })}
        />
      )}
    </>
  );
}

/** Says which part of the traffic the log has. */
function coverage({ successes, sampled }: RequestPage): string {
  return sampled === successes
    ? "So far, every success was recorded."
    : `${percent(sampled / successes)} of ${
      number(successes)
    } successes were recorded.`;
}

function NoRequests() {
  return (
    <Empty title="No requests yet">
      Send one to a listener, and it appears here within a second.{" "}
      <a href={linkTo("topology")}>Topology</a> has the ports and routes.
    </Empty>
  );
}

function NoMatch({ onClear }: { readonly onClear: () => void }) {
  return (
    <Empty title="No recorded request matches">
      <p>
        New ones that match appear here. The search finds texts in any case.
      </p>
      <p>
        <Button onPress={onClear}>Clear the filters</Button>
      </p>
    </Empty>
  );
}
