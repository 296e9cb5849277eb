/** Spreads work over frames, so that none of them takes long. */
import { useEffect, useRef, useState } from "./framework.ts";

/** Draws that wait, by what they draw. */
const waiting = new Map<object, () => void>();
let frame = 0;

/** Draws something in a frame in which nothing else that waits is drawn; a later draw of the same replaces one that waits. */
export function drawSoon(target: object, draw: () => void): void {
  waiting.set(target, draw);
  frame ||= requestAnimationFrame(drawNext);
}

/** Forgets a draw that waits. */
export function cancelDraw(target: object): void {
  waiting.delete(target);
}

function drawNext(): void {
  frame = 0;
  const [next] = waiting;
  if (next === undefined) return;
  const [target, draw] = next;
  waiting.delete(target);
  if (waiting.size > 0) frame = requestAnimationFrame(drawNext);
  draw();
}

/** Returns a value a few frames later, `undefined` at first: what takes long to draw does not delay what is above it. */
export function useNextFrame<T>(value: T): T | undefined {
  const [later, setLater] = useState<T | undefined>(undefined);
  const target = useRef({}).current;
  // A newer value takes the place of one that waits, in whose turn it is drawn.
  useEffect(() => drawSoon(target, () => setLater(value)), [value]);
  useEffect(() => () => cancelDraw(target), []);
  return later;
}
