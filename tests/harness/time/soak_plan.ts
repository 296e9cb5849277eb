const KIBI = 1024;

/** A request of the soak test and its response, derived from its number. */
export interface PlannedExchange {
  readonly target: "stable" | "flapping";
  /** Head and body as sent. */
  readonly request: string;
  readonly requestBody: string;
  /** The body of the response, without framing. */
  readonly responseBody: string;
  /** The response as sent, one write per piece. */
  readonly response: readonly string[];
}

/** Plans request `id` and its response; bodies have 0 B to 256 KiB, most of them are small. */
export function planExchange(id: number): PlannedExchange {
  const random = createRandom(id);
  const target = random() < 0.75 ? "stable" : "flapping";
  const requestBody = bytesOf(id, sizeOf(random()));
  const head = `${
    requestBody === "" ? "GET" : "POST"
  } /${target}/${id} HTTP/1.1\r\nHost: soak.example\r\n`;
  const request = requestBody === ""
    ? `${head}\r\n`
    : random() < 0.5
    ? head + withLength(requestBody)
    : `${head}Transfer-Encoding: chunked\r\n\r\n${
      pieces(requestBody, random).map(chunk).join("")
    }${LAST_CHUNK}`;
  return {
    target,
    request,
    requestBody,
    ...planResponse(id, bytesOf(id + 1, sizeOf(random())), random),
  };
}

/** Removes chunk framing from a body, if any. */
export function unframe(head: string, body: string): string {
  if (!/^transfer-encoding: chunked\r$/im.test(head)) return body;
  let text = "";
  for (let index = 0;;) {
    const lineEnd = body.indexOf("\r\n", index);
    const size = parseInt(body.slice(index, lineEnd), 16);
    if (size === 0) return text;
    index = lineEnd + 2 + size + 2;
    text += body.slice(lineEnd + 2, index - 2);
  }
}

function planResponse(id: number, body: string, random: () => number) {
  const head = (type: string) =>
    `HTTP/1.1 200 OK\r\nX-Id: ${id}\r\nContent-Type: ${type}\r\n`;
  const chunked = "Transfer-Encoding: chunked\r\n\r\n";
  const kind = random();
  if (kind < 0.4) {
    const type = head("application/octet-stream");
    return { responseBody: body, response: [type + withLength(body)] };
  }
  if (kind < 0.6) {
    const json = JSON.stringify({ id, text: "x".repeat(body.length) });
    const response = [head("application/json") + withLength(json)];
    return { responseBody: json, response };
  }
  if (kind < 0.9) {
    const framed = pieces(body, random).map(chunk).join("") + LAST_CHUNK;
    const type = head("application/octet-stream");
    return { responseBody: body, response: [type + chunked + framed] };
  }
  const events = Array.from(
    { length: 1 + Math.floor(random() * 4) },
    (_, index) => `id: ${id}-${index}\ndata: {"n":${index}}\n\n`,
  );
  const type = head("text/event-stream");
  return {
    responseBody: events.join(""),
    response: [type + chunked, ...events.map(chunk), LAST_CHUNK],
  };
}

const LAST_CHUNK = "0\r\n\r\n";

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

function withLength(body: string): string {
  return `Content-Length: ${body.length}\r\n\r\n${body}`;
}

/** Splits text into up to three parts, none empty. */
function pieces(text: string, random: () => number): string[] {
  const cuts = [random(), random()].sort((a, b) => a - b);
  const [first = 0, second = 0] = cuts.map((cut) =>
    Math.floor(cut * text.length)
  );
  return [text.slice(0, first), text.slice(first, second), text.slice(second)]
    .filter((piece) => piece !== "");
}

function sizeOf(ticket: number): number {
  if (ticket < 0.2) return 0;
  const within = (ticket * 1000) % 1;
  if (ticket < 0.75) return 1 + Math.floor(within * KIBI);
  if (ticket < 0.93) return Math.floor(within * 16 * KIBI);
  if (ticket < 0.99) return Math.floor(within * 64 * KIBI);
  return Math.floor(within * 256 * KIBI) + 1;
}

const noise = createNoise(512 * KIBI);

/** Returns noise that differs from that of nearby numbers; one character per byte. */
function bytesOf(id: number, size: number): string {
  const start = (id * 7919) % (256 * KIBI);
  return noise.slice(start, start + size);
}

function createNoise(length: number): string {
  const random = createRandom(0);
  let noise = "";
  for (let index = 0; index < length; index++) {
    noise += String.fromCharCode(Math.floor(random() * 256));
  }
  return noise;
}

/** Returns a generator of numbers in [0, 1), deterministic by seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
