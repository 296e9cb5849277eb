import {
  decodeEvent,
  type ReceivedEvent,
} from "../../cli/ctl/trace/decode_event.ts";

/** Events as a client has them. */
export function received(events: readonly unknown[]): readonly ReceivedEvent[] {
  return events.map((event) => {
    const decoded = decodeEvent(JSON.stringify(event));
    if (decoded === undefined) throw new Error("Expected an event");
    return decoded;
  });
}
