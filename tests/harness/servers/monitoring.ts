/** Reads the alert rules and the dashboard that the chart ships. */

const folder = new URL(
  "../../../deploy/helm/gateway/monitoring/",
  import.meta.url,
);

/** File of the alert rules. */
export const alertsFile: string = new URL("alerts.yaml", folder).pathname;

/** A panel of the dashboard, and one of its queries. */
export interface PanelQuery {
  readonly title: string;
  readonly expr: string;
}

/** Returns every query of the dashboard; windows and variables are still placeholders. */
export async function dashboardQueries(): Promise<readonly PanelQuery[]> {
  const { panels, annotations } = JSON.parse(
    await Deno.readTextFile(new URL("dashboard.json", folder)),
  );
  const ofPanels = panels.flatMap((
    { title, targets = [] }: {
      title: string;
      targets?: { readonly expr: string }[];
    },
  ) => targets.map(({ expr }) => ({ title, expr })));
  const ofAnnotations = annotations.list.map((
    { name, expr }: { name: string; expr: string },
  ) => ({ title: name, expr }));
  return [...ofPanels, ...ofAnnotations];
}

/** Replaces the placeholders of a query. */
export function completed({ expr }: PanelQuery, window: string): string {
  return expr.replaceAll("$__rate_interval", window)
    .replaceAll("$instance", ".*");
}
