/** Returns a generator of uniform numbers in [0, 1), deterministic by seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Bytes and snippets that are difficult for parsers. */
const snippets = [
  "\r\n",
  "\n",
  "\r",
  "\0",
  " ",
  "\t",
  ":",
  ";",
  ",",
  "0",
  "-1",
  "\r\n\r\n",
  "0\r\n\r\n",
  "HTTP/1.1 ",
  "Content-Length: 3\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Connection: close\r\n",
  "ffffffffffffffff",
  "\xff",
];

/** Returns `text` with one to four random changes. */
export function mutate(text: string, random: () => number): string {
  const changes = 1 + Math.floor(random() * 4);
  let mutated = text;
  for (let i = 0; i < changes; i++) mutated = change(mutated, random);
  return mutated;
}

function change(text: string, random: () => number): string {
  const pick = (count: number) => Math.floor(random() * count);
  const at = pick(text.length + 1);
  const until = at + pick(8);
  switch (pick(6)) {
    case 0:
      return text.slice(0, at) + String.fromCharCode(pick(256)) +
        text.slice(at + 1);
    case 1:
      return text.slice(0, at) + text.slice(until);
    case 2:
      return text.slice(0, at) + (snippets[pick(snippets.length)] ?? "") +
        text.slice(at);
    case 3:
      return text.slice(0, until) + text.slice(at);
    case 4:
      return text.slice(0, at);
    default:
      return text.slice(0, at) + (snippets[pick(snippets.length)] ?? "") +
        text.slice(until);
  }
}
