import type { StringTable } from "pprof-format";
import type {
  Frame,
  StackProfile,
} from "../../src/telemetry/profiles/stack_profile.ts";

/** Encodes a profile for `go tool pprof`: gzipped protocol buffers, https://github.com/google/pprof/tree/main/proto. */
export async function encodePprof(
  { valueTypes, samples, period, takenAt, durationMs }: StackProfile,
): Promise<ReadableStream<Uint8Array>> {
  const { Profile, StringTable } = await import("pprof-format");
  const tables = new Tables(new StringTable());
  const types = valueTypes.map(([type, unit]) => ({
    type: tables.text(type),
    unit: tables.text(unit),
  }));
  const shown = types.at(-1) ?? { type: 0, unit: 0 };
  const profile = new Profile({
    sampleType: types,
    sample: samples.map(({ frames, values, thread }) => ({
      locationId: frames.map((frame) => tables.location(frame)),
      value: [...values],
      label: thread === undefined
        ? []
        : [{ key: tables.text("thread"), str: tables.text(thread) }],
    })),
    // Declares that no symbols need to be looked up in the executable.
    mapping: [{
      id: 1,
      filename: tables.text("gateway"),
      hasFunctions: true,
      hasFilenames: true,
      hasLineNumbers: true,
    }],
    location: tables.locations,
    function: tables.functions,
    stringTable: tables.texts,
    timeNanos: BigInt(Math.round(takenAt)) * 1_000_000n,
    durationNanos: Math.round(durationMs * 1e6),
    periodType: shown,
    period,
    defaultSampleType: shown.type,
  });
  const bytes = await profile.encodeAsync();
  return new Blob([bytes.slice()]).stream().pipeThrough(
    new CompressionStream("gzip"),
  );
}

/** Deduplicated tables that samples refer to by number. */
class Tables {
  readonly texts: StringTable;
  readonly locations: {
    id: number;
    mappingId: number;
    line: { functionId: number; line: number }[];
  }[] = [];
  readonly functions: {
    id: number;
    name: number;
    systemName: number;
    filename: number;
    startLine: number;
  }[] = [];
  readonly #functionIds = new Map<string, number>();
  readonly #locationIds = new Map<string, number>();

  constructor(texts: StringTable) {
    this.texts = texts;
  }

  text(text: string): number {
    return this.texts.dedup(text);
  }

  location(frame: Frame): number {
    const functionId = this.#function(frame);
    const key = `${functionId}:${frame.line}`;
    const known = this.#locationIds.get(key);
    if (known !== undefined) return known;
    const id = this.locations.length + 1;
    const line = [{ functionId, line: frame.line }];
    this.locations.push({ id, mappingId: 1, line });
    this.#locationIds.set(key, id);
    return id;
  }

  #function({ name, file, startLine }: Frame): number {
    const key = JSON.stringify([name, file, startLine]);
    const known = this.#functionIds.get(key);
    if (known !== undefined) return known;
    const id = this.functions.length + 1;
    const text = this.text(name);
    const filename = this.text(file);
    this.functions.push({
      id,
      name: text,
      systemName: text,
      filename,
      startLine,
    });
    this.#functionIds.set(key, id);
    return id;
  }
}

/** A profile as a flame graph shows it: the last of its values. */
export interface PageProfile {
  /** Such as `nanoseconds` or `bytes`. */
  readonly unit: string;
  readonly samples: readonly {
    readonly value: number;
    /** Functions with their files, the outermost call first. */
    readonly frames: readonly string[];
  }[];
}

/** Converts a profile for the page. */
export function toPageProfile(
  { valueTypes, samples }: StackProfile,
): PageProfile {
  return {
    unit: valueTypes.at(-1)?.[1] ?? "",
    samples: samples.map(({ values, frames }) => ({
      value: values.at(-1) ?? 0,
      frames: frames.map(({ name, file }) =>
        `${name || "(anonymous)"}${file === "" ? "" : ` (${file})`}`
      ).reverse(),
    })),
  };
}
