/**
 * Keeps the last events of a session, so that a client that lost its stream can resume it
 * (MCP 2025-11-25, "Transports", resumability). Event IDs increase across all streams of the session.
 */
export class EventLog<Message extends object> {
  readonly #capacity: number;
  readonly #events = new Map<string, { streamId: string; message: Message }>();
  #lastId = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  storeEvent(streamId: string, message: Message): Promise<string> {
    const id = String(++this.#lastId);
    this.#events.set(id, { streamId, message });
    this.#events.delete(String(this.#lastId - this.#capacity));
    return Promise.resolve(id);
  }

  getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return Promise.resolve(this.#events.get(eventId)?.streamId);
  }

  /** Sends the events that followed. @throws {RangeError} When the event is unknown or too old. */
  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (eventId: string, message: Message) => Promise<void> },
  ): Promise<string> {
    const last = this.#events.get(lastEventId);
    if (last === undefined) {
      throw new RangeError(`Cannot replay after event "${lastEventId}"`);
    }
    for (const [id, { streamId, message }] of this.#events) {
      const missed = streamId === last.streamId &&
        Number(id) > Number(lastEventId);
      // An empty message is the priming event that opens a stream: an ID without data.
      if (missed && Object.keys(message).length > 0) await send(id, message);
    }
    return last.streamId;
  }
}
