/** Reports whether the terminal supports cursor control; with TERM unset or dumb, it does not. */
export function canDraw(): boolean {
  if (Deno.build.os === "windows") return true;
  const name = Deno.env.get("TERM") ?? "";
  return name !== "" && name !== "dumb";
}
