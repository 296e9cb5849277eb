import type { DocumentReport } from "../../harness/openapi/document_check.ts";
import { alignedTable } from "../mcp/conformance_report.ts";

/** A row of the table. */
export type DocumentRow = DocumentReport & { readonly name: string };

/** Writes the page. @param rows Without faults. */
export function openapiReport(rows: readonly DocumentRow[]): string {
  const sum = (field: "operations" | "tools" | "calls" | "values") =>
    rows.reduce((total, row) => total + row[field], 0);
  const cells = rows.map((row) => [
    row.name,
    row.title.replaceAll("|", "/").trim(),
    row.version,
    ...[row.operations, row.tools, row.calls, row.values].map(String),
    Object.entries(row.refused).map(([reason, count]) => `${count}: ${reason}`)
      .join("; "),
  ]);
  return `# OpenAPI documents

The gateway converts each document; calls of a sample of its tools, at most 200,
reach a server that records what arrives. Every argument of every call is where
the document wants it, with its value: in the path, the query, a header field, a
cookie, or the body. "Without a tool" counts operations that were left out, with
the reason; the problem that the gateway logs names the place of each.

${rows.length} documents, ${sum("operations")} operations, ${
    sum("tools")
  } tools; ${sum("calls")} calls with ${sum("values")} arguments, no fault.
\`GOLDEN=update make interop-openapi\` writes this page.

${
    alignedTable([[
      "document",
      "API",
      "OpenAPI",
      "operations",
      "tools",
      "calls",
      "arguments",
      "without a tool",
    ], ...cells])
  }`;
}
