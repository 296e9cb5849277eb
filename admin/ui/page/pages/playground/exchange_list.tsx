/** The requests that the playground sent, each with what the gateway did. */
import { latency } from "../../kit/format.ts";
import { useEffect, useMemo, useState } from "../../kit/framework.ts";
import { Button } from "../../kit/inputs.tsx";
import { Badge, Section, toneOfStatus } from "../../kit/layout.tsx";
import { TraceTable } from "../traces/trace_table.tsx";
import { type Exchange, Exchanges } from "./sent_requests.ts";

const MAX_KEPT = 50;

/** Requests that were sent, newest first. */
export interface ExchangeLog {
  readonly list: readonly Exchange[];
  readonly exchanges: Exchanges;
  /** Aborts when the page is left. */
  readonly leaving: AbortSignal;
}

/** Keeps the latest requests for as long as the page is shown. */
export function useExchanges(): ExchangeLog {
  const [list, setList] = useState<readonly Exchange[]>([]);
  const { exchanges, leaving } = useMemo(() => {
    const leaving = new AbortController();
    const onChange = (changed: Exchange) =>
      setList((old) =>
        old.some(({ id }) => id === changed.id)
          ? old.map((each) => each.id === changed.id ? changed : each)
          : [changed, ...old].slice(0, MAX_KEPT)
      );
    return {
      exchanges: new Exchanges(onChange, leaving.signal, Date.now),
      leaving,
    };
  }, []);
  useEffect(() => () => leaving.abort(), []);
  return { list, exchanges, leaving: leaving.signal };
}

/** A section with the requests; the selected one shows its trace. */
export function ExchangeList({ list }: { readonly list: readonly Exchange[] }) {
  const [chosen, choose] = useState<number | undefined>(undefined);
  if (list.length === 0) return null;
  const shown = list.find(({ id }) => id === chosen);
  return (
    <Section
      title="Requests"
      about="What was sent, newest first. Select one to see what the gateway did with it."
    >
      <ol class="requests" aria-label="Requests">
        {list.map((exchange) => (
          <li key={exchange.id}>
            <Button
              isPressed={exchange.id === chosen}
              onPress={() => choose(exchange.id)}
            >
              {exchange.title} <State exchange={exchange} />
            </Button>
          </li>
        ))}
      </ol>
      {shown && (
        <div class="stack">
          <p class="quiet break">
            {shown.method} {shown.url}
            {shown.milliseconds !== undefined &&
              `, response after ${latency(shown.milliseconds)}`}
            {shown.error !== undefined && `: ${shown.error}`}
          </p>
          {shown.events.length === 0
            ? (
              <p class="quiet">
                No trace: the request went to an identity provider, or is not
                over.
              </p>
            )
            : (
              <TraceTable
                key={shown.id}
                label={`Events of ${shown.title}`}
                events={shown.events}
                selectsFailure
              />
            )}
        </div>
      )}
    </Section>
  );
}

/** The expected 401 of a login is no success: it has the tone of any other 401. */
function State(
  { exchange: { status, error } }: { readonly exchange: Exchange },
) {
  if (error !== undefined) return <Badge tone="bad">no response</Badge>;
  if (status === undefined) return <Badge>…</Badge>;
  return <Badge tone={toneOfStatus(status)}>{status}</Badge>;
}
