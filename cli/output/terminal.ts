/** Whether terminals here obey commands that draw; one that says nothing of itself, or that it can do nothing, gets lines of text. */
export function canDraw(): boolean {
  if (Deno.build.os === "windows") return true;
  const name = Deno.env.get("TERM") ?? "";
  return name !== "" && name !== "dumb";
}
