import {
  decodeEvent,
  type ReceivedEvent,
} from "../../../cli/ctl/trace/decode_event.ts";

/** Decodes events like a client. */
export function received(events: readonly unknown[]): readonly ReceivedEvent[] {
  return events.map((event) => {
    const decoded = decodeEvent(JSON.stringify(event));
    if (decoded === undefined) throw new Error("Expected an event");
    return decoded;
  });
}
