/** Parses profiles: gzipped protocol buffers, https://github.com/google/pprof/tree/main/proto. */

/** A stack, the outermost call first. */
export interface Sample {
  readonly value: number;
  readonly frames: readonly string[];
}

/** A profile: the last of its values. */
export interface Profile {
  /** Such as `nanoseconds` or `bytes`. */
  readonly unit: string;
  readonly samples: readonly Sample[];
}

/** Fields of `Profile` that a flame graph needs. */
const fields = { sampleType: 1, sample: 2, location: 4, function: 5, text: 6 };

/** Reads a profile. @throws {Error} When it is not one. */
export async function readProfile(
  gzipped: ReadableStream<Uint8Array<ArrayBuffer>>,
): Promise<Profile> {
  const stream = gzipped.pipeThrough(new DecompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const profile = readMessage(bytes);
  const texts = profile.all(fields.text).map((each) =>
    new TextDecoder().decode(each)
  );
  const functions = new Map(
    profile.all(fields.function).map(readMessage).map((each) => [
      each.number(1),
      nameOf(texts[each.number(2)], texts[each.number(4)]),
    ]),
  );
  const locations = new Map(
    profile.all(fields.location).map(readMessage).map((each) => [
      each.number(1),
      each.all(4).map(readMessage).flatMap((line) =>
        functions.get(line.number(1)) ?? []
      ),
    ]),
  );
  const types = profile.all(fields.sampleType).map(readMessage);
  return {
    // The last value is the default one.
    unit: texts[types.at(-1)?.number(2) ?? 0] ?? "",
    samples: profile.all(fields.sample).map(readMessage).map((sample) => ({
      value: sample.numbers(2).at(-1) ?? 0,
      frames: sample.numbers(1).flatMap((id) => locations.get(id) ?? [])
        .reverse(),
    })),
  };
}

function nameOf(text: string | undefined, file: string | undefined): string {
  const name = text || "(anonymous)";
  return file === undefined || file === "" ? name : `${name} (${file})`;
}

type Bytes = Uint8Array<ArrayBuffer>;

interface Reader {
  readonly bytes: Bytes;
  at: number;
}

/** Parses the fields of a message. */
function readMessage(bytes: Bytes) {
  const lengths = new Map<number, Bytes[]>();
  const counts = new Map<number, number[]>();
  const reader: Reader = { bytes, at: 0 };
  while (reader.at < bytes.length) {
    const tag = readVarint(reader);
    const value = readValue(reader, tag & 7);
    const field = tag >>> 3;
    if (typeof value === "number") append(counts, field, value);
    else append(lengths, field, value);
  }
  const all = (field: number) => lengths.get(field) ?? [];
  return {
    all,
    number: (field: number) => counts.get(field)?.at(-1) ?? 0,
    /** Returns a repeated number, packed or not. */
    numbers: (field: number) => [
      ...counts.get(field) ?? [],
      ...all(field).flatMap(readVarints),
    ],
  };
}

function append<T>(lists: Map<number, T[]>, key: number, value: T): void {
  const known = lists.get(key);
  if (known === undefined) lists.set(key, [value]);
  else known.push(value);
}

function readValue(reader: Reader, wireType: number): Bytes | number {
  switch (wireType) {
    case 0:
      return readVarint(reader);
    case 1:
      return take(reader, 8);
    case 2:
      return take(reader, readVarint(reader));
    case 5:
      return take(reader, 4);
    default:
      throw new Error("Invalid profile: not in pprof format");
  }
}

function take(reader: Reader, length: number): Bytes {
  reader.at += length;
  return reader.bytes.subarray(reader.at - length, reader.at);
}

function readVarints(bytes: Bytes): number[] {
  const reader: Reader = { bytes, at: 0 };
  const numbers: number[] = [];
  while (reader.at < bytes.length) numbers.push(readVarint(reader));
  return numbers;
}

/** Reads a varint; exact up to 2^53, which is enough for ids and nanoseconds. */
function readVarint(reader: Reader): number {
  let value = 0;
  for (let factor = 1; reader.at < reader.bytes.length; factor *= 128) {
    const byte = reader.bytes[reader.at++] ?? 0;
    value += (byte & 127) * factor;
    if (byte < 128) return value;
  }
  throw new Error("Invalid profile: truncated");
}
