const encoder = new TextEncoder();

/** Writes data to standard output. A closed pipe, as with `head`, is not an error. */
export async function print(text: string): Promise<void> {
  await write(Deno.stdout, text);
}

/** Writes messages to standard error. */
export async function printError(text: string): Promise<void> {
  await write(Deno.stderr, text);
}

async function write(
  output: typeof Deno.stdout | typeof Deno.stderr,
  text: string,
): Promise<void> {
  const bytes = encoder.encode(text);
  try {
    for (let sent = 0; sent < bytes.length;) {
      sent += await output.write(bytes.subarray(sent));
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}
