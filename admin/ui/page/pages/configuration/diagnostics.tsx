/** Problems of a draft with their places. */
import { Button } from "../../kit/inputs.tsx";
import { Badge } from "../../kit/layout.tsx";
import type { DraftResult } from "./draft.ts";

interface DiagnosticsProps {
  readonly diagnostics: DraftResult["diagnostics"];
  readonly onGoTo: (line: number) => void;
}

/** A list of problems; each leads to its line. */
export function Diagnostics({ diagnostics, onGoTo }: DiagnosticsProps) {
  if (diagnostics.length === 0) return null;
  return (
    <ul class="diagnostics" aria-label="Diagnostics">
      {diagnostics.map((each, index) => (
        <li key={index}>
          <Badge tone={each.severity === "error" ? "bad" : "warn"}>
            {each.severity}
          </Badge>
          <Button onPress={() => onGoTo(each.line)}>Line {each.line}</Button>
          <span>
            {each.path !== "" && <code>{each.path}</code>} {each.message}
            {each.suggestion !== undefined && (
              <>
                ; did you mean <code>{each.suggestion}</code>?
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
