/** The lines of the log, which stay where they are while somebody looks at them. */
import type { LoggedRequest } from "../../../../../src/telemetry/requests/logged_request.ts";
import { Time } from "../../kit/data.tsx";
import { compact, latency } from "../../kit/format.ts";
import {
  type ComponentChildren,
  useLayoutEffect,
  useRef,
  useState,
} from "../../kit/framework.ts";
import { Button } from "../../kit/inputs.tsx";
import { Badge, toneOfStatus } from "../../kit/layout.tsx";
import { useMedia } from "../../kit/media.ts";
import { VirtualList } from "../../kit/virtual_list.tsx";

const ROW_HEIGHT = 34;
/** With two lines. */
const NARROW_ROW_HEIGHT = 58;

interface RequestListProps {
  /** Newest first. */
  readonly requests: readonly LoggedRequest[];
  /** Another list of requests has another key. */
  readonly filterKey: string;
  /** Text under the list. */
  readonly about: string;
  /** Record of the open request. */
  readonly open: string | undefined;
  readonly onOpen: (record: string) => void;
  readonly whenEmpty: ComponentChildren;
}

/** A list that is held while it is paused, scrolled, open, or under the pointer or the keyboard. */
export function RequestList(props: RequestListProps) {
  const { requests, filterKey, about, open, onOpen, whenEmpty } = props;
  const element = useRef<HTMLDivElement>(null);
  const [isPaused, setPaused] = useState(false);
  const [drawn, setDrawn] = useState(requests);
  const isNarrow = useMedia("(max-width: 60rem)");
  const reason = isPaused ? "Paused" : open !== undefined ? "Held" : "";
  const release = () => setDrawn(requests);
  // Before anybody sees the rows of another filter.
  useLayoutEffect(release, [filterKey]);
  useLayoutEffect(() => {
    if (reason === "" && !isLookedAt(element.current)) release();
  }, [requests, reason]);
  const newer = countNewer(requests, drawn);
  return (
    <section class="panel flush log" aria-label="Log">
      <LogBar
        reason={reason}
        count={drawn.length}
        newer={newer}
        isPaused={isPaused}
        onPause={setPaused}
        onShow={() => {
          release();
          scrollToTop(element.current);
        }}
      />
      {drawn.length === 0 ? whenEmpty : (
        <div
          ref={element}
          class={isNarrow ? "log-list narrow" : "log-list"}
          onPointerLeave={() => {
            if (reason === "" && !isScrolled(element.current)) release();
          }}
        >
          <Heads />
          <VirtualList
            label="Requests, newest first"
            items={drawn}
            keyOf={({ record }) => record}
            rowHeight={isNarrow ? NARROW_ROW_HEIGHT : ROW_HEIGHT}
            selected={open}
            onSelect={({ record }) => onOpen(record)}
            row={(request) => <Line request={request} />}
          />
        </div>
      )}
      <p class="log-foot quiet">{about}</p>
    </section>
  );
}

interface LogBarProps {
  /** The reason for holding the list; empty if there is none. */
  readonly reason: string;
  readonly count: number;
  /** Requests that the list does not show yet. */
  readonly newer: number;
  readonly isPaused: boolean;
  readonly onPause: (isPaused: boolean) => void;
  readonly onShow: () => void;
}

function LogBar(
  { reason, count, newer, isPaused, onPause, onShow }: LogBarProps,
) {
  return (
    <div class="log-bar">
      <Badge tone={reason === "" && newer === 0 ? "good" : "quiet"}>
        {reason || (newer === 0 ? "Live" : "Held")}
      </Badge>
      <span class="quiet count" role="status">
        {newer === 0
          ? `${count} ${count === 1 ? "request" : "requests"}`
          : `${newer} newer`}
      </span>
      {newer > 0 && (
        <Button
          class="small"
          onPress={onShow}
        >
          Show
        </Button>
      )}
      <span class="fill" />
      <Button
        class="small"
        isPressed={isPaused}
        onPress={() => onPause(!isPaused)}
      >
        Pause
      </Button>
    </div>
  );
}

function isLookedAt(element: HTMLElement | null): boolean {
  return element !== null &&
    (element.matches(":hover") || isScrolled(element) ||
      element.querySelector(".list:focus-visible") !== null);
}

function listOf(element: HTMLElement | null): Element | null {
  return element?.querySelector(".list") ?? null;
}

function isScrolled(element: HTMLElement | null): boolean {
  return (listOf(element)?.scrollTop ?? 0) > 0;
}

function scrollToTop(element: HTMLElement | null): void {
  const list = listOf(element);
  if (list !== null) list.scrollTop = 0;
}

function countNewer(
  requests: readonly LoggedRequest[],
  drawn: readonly LoggedRequest[],
): number {
  if (requests === drawn) return 0;
  const known = new Set(drawn.map(({ record }) => record));
  return requests.reduce(
    (sum, { record }) => known.has(record) ? sum : sum + 1,
    0,
  );
}

function Heads() {
  return (
    <div class="log-row log-heads" aria-hidden="true">
      <span>Time</span>
      <span>Status</span>
      <span>Request</span>
      <span>Route</span>
      <span>Model</span>
      <span>Key</span>
      <span class="figure">Tokens</span>
      <span class="figure">Duration</span>
    </div>
  );
}

function Line({ request }: { readonly request: LoggedRequest }) {
  const { time, status, method, host, path, route, model, key } = request;
  const { inputTokens, outputTokens, durationMs, reason, hasFailed } = request;
  const name = `${method} ${host}${path}`.trim();
  return (
    <div class="log-row">
      <Time at={time} isShort />
      <span>
        <Badge tone={hasFailed && status < 400 ? "bad" : toneOfStatus(status)}>
          {status}
        </Badge>
      </span>
      <span class="log-name" title={name}>
        {method !== "" && <b>{method}</b>} {path || request.id}{" "}
        <span class="quiet">{hasFailed ? reason : host}</span>
      </span>
      <span class="log-route">{route ?? "–"}</span>
      <span class="log-model">{model ?? "–"}</span>
      <span class="log-key">{key ?? "–"}</span>
      <span class="figure log-tokens">
        {inputTokens === null
          ? "–"
          : compact(inputTokens + (outputTokens ?? 0))}
      </span>
      <span class="figure">{latency(durationMs)}</span>
    </div>
  );
}
