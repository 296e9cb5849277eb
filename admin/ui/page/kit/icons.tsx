/** Icons of the navigation: strokes in a square of 24. They repeat what the text beside them says. */

const paths = {
  overview: "M3 13h7V3H3zM14 21h7V11h-7zM14 3v4h7V3zM3 21h7v-4H3z",
  traffic: "M3 17l6-6 4 4 8-9M15 6h6v6",
  requests: "M4 6h16M4 12h16M4 18h10",
  trace: "M4 5h8M8 12h9M12 19h8",
  failures: "M12 4l9 16H3zM12 10v4M12 17v.5",
  topology: "M4 12h4M16 6h4M16 18h4M8 12c4 0 4-6 8-6M8 12c4 0 4 6 8 6",
  configuration: "M8 4H5v16h14V8l-4-4H8zM14 4v5h5M9 13h6M9 16h4",
  playground: "M7 4l13 8-13 8z",
  mcp: "M4 5h16v5H4zM4 14h16v5H4zM8 7.5h.5M8 16.5h.5M12 10v4",
  limits: "M4 18a8 8 0 1 1 16 0M12 18l4-6",
  keys: "M8 15a4 4 0 1 1 3.5-2L20 13v3h-3v2h-3",
  accounts: "M4 20a8 8 0 0 1 16 0M12 4a4 4 0 1 0 .01 0M17 4l2 2 3-3",
  logging: "M5 4h14v16H5zM8 9h8M8 13h8M8 17h4",
  profiles:
    "M12 3c4 5 6 7 6 11a6 6 0 0 1-12 0c0-2 1-3 2-5 1 2 2 2 2 2 1-3 1-5 2-8z",
  memory:
    "M6 6h12v12H6zM9 3v3M15 3v3M9 18v3M15 18v3M3 9h3M3 15h3M18 9h3M18 15h3",
  tasks: "M4 6l2 2 3-3M4 13l2 2 3-3M12 7h8M12 14h8M12 20h8",
  connections: "M9 7H6a5 5 0 0 0 0 10h3M15 7h3a5 5 0 0 1 0 10h-3M8 12h8",
  menu: "M4 6h16M4 12h16M4 18h16",
  theme: "M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z",
} as const;

/** Name of an icon. */
export type IconName = keyof typeof paths;

/** An icon, hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
