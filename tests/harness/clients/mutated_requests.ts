import { mutate } from "./mutations.ts";

const valid = [
  "GET /a HTTP/1.1\r\nHost: a.example\r\n\r\n",
  "GET /b?c=d HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\nX-Empty:\r\n\r\n",
  "POST /c HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nhello",
  "PUT /d HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n",
  "POST /e HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n",
  "POST /f HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: a.example\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n",
  "DELETE /g HTTP/1.1\r\nhost: a.example\r\nX-A: 1\r\nX-A: 2\r\n\r\n",
];

/** Returns one or two valid requests, most of the time with mutations. */
export function mutatedRequests(random: () => number): string {
  const pick = () => valid[Math.floor(random() * valid.length)] ?? "";
  const text = pick() + (random() < 0.5 ? pick() : "");
  return random() < 0.2 ? text : mutate(text, random);
}
