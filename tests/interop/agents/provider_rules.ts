/** Rules by which providers reject requests, as far as translated requests could break them. */
type Json = Readonly<Record<string, unknown>>;

/** The part of a request that an answer depends on. */
export interface SeenRequest {
  readonly tools: readonly string[];
  /** Results of calls in the whole conversation. */
  readonly results: number;
  readonly stream: boolean;
}

/** Reads a request of a provider's API. @throws {Error} With the words of the provider, if it rejects the request. */
export type RequestRules = (body: Json, path: string) => SeenRequest;

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function object(value: unknown): Json {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function allow(holder: Json, path: string, ...names: readonly string[]): void {
  for (const name of Object.keys(holder)) {
    if (!names.includes(name)) {
      throw new Error(`${path}.${name}: Extra inputs are not permitted`);
    }
  }
}

function expect(holds: boolean, message: string): void {
  if (!holds) throw new Error(message);
}

function chatLike(body: Json): SeenRequest {
  let open = new Set<unknown>();
  let results = 0;
  for (const message of list(body["messages"])) {
    const role = message["role"];
    if (role === "tool") {
      results++;
      expect(open.delete(message["tool_call_id"]), "tool without its call");
      continue;
    }
    expect(open.size === 0, "tool_calls must be followed by tool messages");
    expect(
      ["system", "developer", "user", "assistant"].includes(String(role)),
      `invalid role ${role}`,
    );
    allow(message, "message", "role", "content", "tool_calls");
    const calls = list(message["tool_calls"]);
    open = new Set(calls.map(({ id }) => id));
    for (const { id, function: called } of calls) {
      expect(String(id).length <= 40, "tool call id is longer than 40");
      JSON.parse(String(object(called)["arguments"]));
    }
  }
  const tools = list(body["tools"]).map((tool) => {
    allow(tool, "tool", "type", "function");
    const called = object(tool["function"]);
    allow(called, "function", "name", "description", "parameters", "strict");
    return String(called["name"]);
  });
  for (const name of tools) expect(/^[\w-]{1,64}$/.test(name), `tool ${name}`);
  return { tools, results, stream: body["stream"] === true };
}

/** OpenAI's chat completions, with the settings that a model which reasons has. */
export function openAiRules(
  body: Json,
): SeenRequest {
  allow(
    body,
    "body",
    ...["model", "messages", "tools", "tool_choice", "parallel_tool_calls"],
    ...["max_completion_tokens", "reasoning_effort", "response_format"],
    ...["stream", "stream_options", "user", "temperature", "top_p", "stop"],
  );
  const { reasoning_effort: effort = "none" } = body;
  expect(
    ["none", "low", "medium", "high", "xhigh"].includes(String(effort)),
    `Unsupported value: reasoning_effort ${effort}`,
  );
  expect(
    effort === "none" || body["temperature"] === undefined,
    "Unsupported parameter: temperature",
  );
  return chatLike(body);
}

/** A compatible server, which knows `max_tokens`. */
export function compatibleRules(
  body: Json,
): SeenRequest {
  allow(
    body,
    "body",
    ...["model", "messages", "tools", "tool_choice", "parallel_tool_calls"],
    ...["max_tokens", "reasoning_effort", "response_format", "stream"],
    ...["stream_options", "user", "temperature", "top_p", "stop"],
  );
  return chatLike(body);
}

/** Any API, for requests that are not translated. */
export function anyRules(body: Json, path: string): SeenRequest {
  return {
    tools: list(body["tools"]).flatMap((tool) =>
      Array.isArray(tool["functionDeclarations"])
        ? list(tool["functionDeclarations"])
        : [tool["function"] === undefined ? tool : object(tool["function"])]
    ).map(({ name }) => String(name)),
    results: JSON.stringify(body).match(
      /"type":"(?:tool_result|function_call_output)"|"role":"tool"|"functionResponse"/g,
    )?.length ?? 0,
    stream: body["stream"] === true || path.includes("stream"),
  };
}

/** Anthropic's messages. */
export function messagesRules(
  body: Json,
): SeenRequest {
  allow(
    body,
    "body",
    ...["model", "max_tokens", "system", "messages", "tools", "tool_choice"],
    ...["temperature", "top_p", "top_k", "stop_sequences", "stream"],
    ...["thinking", "output_config", "metadata", "anthropic_version"],
  );
  let open = new Set<unknown>();
  let results = 0;
  for (const { role, content } of list(body["messages"])) {
    expect(role === "user" || role === "assistant", `role ${role}`);
    const blocks = list(content);
    const found = blocks.filter(({ type }) => type === "tool_result");
    results += found.length;
    for (const { tool_use_id: id } of found) {
      expect(open.delete(id), "tool_result without its tool_use");
    }
    expect(open.size === 0, "tool_use ids without tool_result blocks");
    for (const { type, text, signature, id } of blocks) {
      expect(type !== "text" || String(text).trim() !== "", "blank text");
      expect(
        type !== "thinking" || String(signature).startsWith("sig"),
        "Invalid signature in thinking block",
      );
      expect(
        type !== "tool_use" || /^[\w-]+$/.test(String(id)),
        `tool_use.id ${id}`,
      );
    }
    open = new Set(
      blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id),
    );
  }
  const tools = list(body["tools"]).map((tool) => {
    allow(
      tool,
      "tool",
      ...["name", "description", "input_schema", "cache_control", "strict"],
    );
    return String(tool["name"]);
  });
  expect(JSON.stringify(body).split('"cache_control"').length <= 5, "marks");
  return { tools, results, stream: body["stream"] === true };
}

/** Gemini 3. */
export function geminiRules(
  body: Json,
  path: string,
): SeenRequest {
  allow(
    body,
    "body",
    ...["contents", "systemInstruction", "tools", "toolConfig"],
    "generationConfig",
  );
  allow(
    object(body["generationConfig"]),
    "generationConfig",
    ...["maxOutputTokens", "temperature", "topP", "topK", "stopSequences"],
    ...["thinkingConfig", "responseMimeType", "responseJsonSchema"],
  );
  let results = 0;
  for (const { role, parts } of list(body["contents"])) {
    expect(role === "user" || role === "model", `role ${role}`);
    const calls = list(parts).filter((part) => "functionCall" in part);
    expect(
      calls.length === 0 || calls[0]?.["thoughtSignature"] !== undefined,
      "Function call is missing a thought_signature",
    );
    results += list(parts).filter((part) => "functionResponse" in part).length;
  }
  const tools = list(body["tools"]).flatMap(({ functionDeclarations }) =>
    list(functionDeclarations).map((each) => {
      allow(each, "tool", "name", "description", "parametersJsonSchema");
      const unknown = /"(?:\$schema|const|exclusiveM\w+|propertyNames)":/.exec(
        JSON.stringify(each),
      );
      expect(unknown === null, `Unknown name ${unknown?.[0]}`);
      return String(each["name"]);
    })
  );
  return { tools, results, stream: path.includes(":stream") };
}

/** Bedrock's Converse. */
export function converseRules(
  body: Json,
  path: string,
): SeenRequest {
  allow(
    body,
    "body",
    ...["messages", "system", "inferenceConfig", "toolConfig"],
    ...["additionalModelRequestFields", "outputConfig", "requestMetadata"],
  );
  for (const value of Object.values(object(body["requestMetadata"]))) {
    expect(
      /^[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}$/.test(String(value)),
      "requestMetadata failed to satisfy constraint",
    );
  }
  let previous: unknown;
  let results = 0;
  let uses = 0;
  for (const { role, content } of list(body["messages"])) {
    expect(role !== previous, "roles must alternate");
    previous = role;
    for (const block of list(content)) {
      expect(
        typeof block["text"] !== "string" || block["text"].trim() !== "",
        "The text field in the ContentBlock object is blank",
      );
      const use = object(block["toolUse"]);
      if ("toolUse" in block) uses++;
      expect(
        /^[\w.:-]{1,64}$/.test(String(use["toolUseId"] ?? "none")),
        "toolUseId failed to satisfy constraint",
      );
      if ("toolResult" in block) results++;
    }
  }
  const specs = list(object(body["toolConfig"])["tools"])
    .filter((tool) => "toolSpec" in tool).map(({ toolSpec }) =>
      object(toolSpec)
    );
  expect(
    uses === 0 || specs.length > 0,
    "The toolConfig field must be defined when using toolUse",
  );
  const tools = specs.map(({ name, description }) => {
    expect(/^[\w-]{1,64}$/.test(String(name)), `toolSpec.name ${name}`);
    expect(description !== "", "toolSpec.description is empty");
    return String(name);
  });
  expect(JSON.stringify(body).split('"cachePoint"').length <= 5, "marks");
  return { tools, results, stream: path.includes("stream") };
}
