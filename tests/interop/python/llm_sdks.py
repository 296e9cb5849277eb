"""Calls LLM APIs with the official Python SDKs; reads `{"sdk", "url"}` from standard input, prints what each call returned as JSON."""
import json
import sys

MODEL = "model-1"
KEY = "client-key"
NAME = "get_weather"
ABOUT = "Weather of a city"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
OPENAI_TOOL = {
    "type": "function",
    "function": {"name": NAME, "description": ABOUT, "parameters": SCHEMA},
}
USER = {"role": "user", "content": "Hello"}


def outcome(text, calls, usage):
    return {"text": text or "", "calls": calls, "usage": usage}


def openai(url):
    from openai import OpenAI

    client = OpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0)
    chats = client.chat.completions

    def read(completion):
        message, usage = completion.choices[0].message, completion.usage
        calls = [
            [call.function.name, json.loads(call.function.arguments)]
            for call in message.tool_calls or []
        ]
        return outcome(
            message.content, calls, [usage.prompt_tokens, usage.completion_tokens]
        )

    def stream(**body):
        options = {"include_usage": True}
        with chats.stream(stream_options=options, **body) as events:
            return read(events.get_final_completion())

    body = {"model": MODEL, "messages": [USER]}
    tools = {"tools": [OPENAI_TOOL]}
    yield "text", lambda: read(chats.create(**body))
    yield "text streamed", lambda: stream(**body)
    yield "call", lambda: read(chats.create(**body, **tools))
    yield "call streamed", lambda: stream(**body, **tools)


def anthropic(url):
    from anthropic import Anthropic

    messages = Anthropic(base_url=url, api_key=KEY, max_retries=0).messages

    def read(message):
        text = "".join(part.text for part in message.content if part.type == "text")
        calls = [
            [part.name, part.input]
            for part in message.content
            if part.type == "tool_use"
        ]
        usage = message.usage
        counts = [
            usage.input_tokens,
            usage.cache_read_input_tokens,
            usage.output_tokens,
        ]
        return outcome(text, calls, counts)

    def stream(**body):
        with messages.stream(**body) as events:
            return read(events.get_final_message())

    body = {"model": MODEL, "messages": [USER], "max_tokens": 100}
    tool = {"name": NAME, "description": ABOUT, "input_schema": SCHEMA}
    yield "text", lambda: read(messages.create(**body))
    yield "text streamed", lambda: stream(**body)
    yield "call", lambda: read(messages.create(**body, tools=[tool]))
    yield "call streamed", lambda: stream(**body, tools=[tool])


def gemini(url):
    from google import genai
    from google.genai import types

    client = genai.Client(api_key=KEY, http_options={"base_url": url})
    body = {"model": MODEL, "contents": "Hello"}
    function = {"name": NAME, "description": ABOUT, "parameters_json_schema": SCHEMA}
    config = types.GenerateContentConfig(
        tools=[{"function_declarations": [function]}],
        automatic_function_calling={"disable": True},
    )

    def read(chunks):
        chunks = list(chunks)
        parts = [
            part
            for chunk in chunks
            for part in chunk.candidates[0].content.parts or []
        ]
        calls = [
            [part.function_call.name, part.function_call.args]
            for part in parts
            if part.function_call
        ]
        usage = chunks[-1].usage_metadata
        return outcome(
            "".join(part.text or "" for part in parts),
            calls,
            [usage.prompt_token_count, usage.candidates_token_count],
        )

    models = client.models
    yield "text", lambda: read([models.generate_content(**body)])
    yield "text streamed", lambda: read(models.generate_content_stream(**body))
    yield "call", lambda: read([models.generate_content(**body, config=config)])
    yield "call streamed", lambda: read(
        models.generate_content_stream(**body, config=config)
    )


def bedrock(url):
    import boto3
    from botocore.config import Config

    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="client",
        aws_secret_access_key=KEY,
        config=Config(retries={"total_max_attempts": 1}),
    )
    body = {
        "modelId": MODEL,
        "messages": [{"role": "user", "content": [{"text": "Hello"}]}],
    }
    tool = {"name": NAME, "description": ABOUT, "inputSchema": {"json": SCHEMA}}
    tools = {"toolConfig": {"tools": [{"toolSpec": tool}]}}

    def counts(usage):
        return [usage["inputTokens"], usage["outputTokens"]]

    def read(answer):
        parts = answer["output"]["message"]["content"]
        calls = [
            [part["toolUse"]["name"], part["toolUse"]["input"]]
            for part in parts
            if "toolUse" in part
        ]
        text = "".join(part.get("text", "") for part in parts)
        return outcome(text, calls, counts(answer["usage"]))

    def stream(**body):
        text, names, inputs, usage = "", [], "", None
        for event in client.converse_stream(**body)["stream"]:
            start = event.get("contentBlockStart", {}).get("start", {})
            delta = event.get("contentBlockDelta", {}).get("delta", {})
            names += [start["toolUse"]["name"]] if "toolUse" in start else []
            inputs += delta.get("toolUse", {}).get("input", "")
            text += delta.get("text", "")
            usage = event.get("metadata", {}).get("usage", usage)
        calls = [[name, json.loads(inputs)] for name in names]
        return outcome(text, calls, counts(usage))

    yield "text", lambda: read(client.converse(**body))
    yield "text streamed", lambda: stream(**body)
    yield "call", lambda: read(client.converse(**body, **tools))
    yield "call streamed", lambda: stream(**body, **tools)


def cohere(url):
    from cohere import ClientV2

    client = ClientV2(api_key=KEY, base_url=url)
    body = {"model": MODEL, "messages": [USER]}

    def counts(usage):
        return [usage.tokens.input_tokens, usage.tokens.output_tokens]

    def read(answer):
        message = answer.message
        calls = [
            [call.function.name, json.loads(call.function.arguments)]
            for call in message.tool_calls or []
        ]
        text = "".join(part.text for part in message.content or [])
        return outcome(text, calls, counts(answer.usage))

    def stream():
        text, usage = "", None
        for event in client.chat_stream(**body):
            if event.type == "content-delta":
                text += event.delta.message.content.text
            if event.type == "message-end":
                usage = event.delta.usage
        return outcome(text, [], counts(usage))

    yield "text", lambda: read(client.chat(**body))
    yield "text streamed", stream
    yield "call", lambda: read(client.chat(**body, tools=[OPENAI_TOOL]))


def mistral(url):
    try:
        from mistralai.client import Mistral
    except ImportError:
        from mistralai import Mistral

    chat = Mistral(api_key=KEY, server_url=url).chat
    body = {"model": MODEL, "messages": [USER]}

    def counts(usage):
        return [usage.prompt_tokens, usage.completion_tokens]

    def read(completion):
        message = completion.choices[0].message
        calls = [
            [call.function.name, json.loads(call.function.arguments)]
            for call in message.tool_calls or []
        ]
        return outcome(message.content, calls, counts(completion.usage))

    def stream():
        text, usage = "", None
        for event in chat.stream(**body):
            for choice in event.data.choices:
                text += choice.delta.content or ""
            usage = event.data.usage or usage
        return outcome(text, [], counts(usage))

    yield "text", lambda: read(chat.complete(**body))
    yield "text streamed", stream
    yield "call", lambda: read(chat.complete(**body, tools=[OPENAI_TOOL]))


def ollama(url):
    from ollama import Client

    client = Client(host=url)
    body = {"model": MODEL, "messages": [USER]}

    def read(chunks):
        chunks = list(chunks)
        calls = [
            [call.function.name, dict(call.function.arguments)]
            for chunk in chunks
            for call in chunk.message.tool_calls or []
        ]
        text = "".join(chunk.message.content or "" for chunk in chunks)
        last = chunks[-1]
        return outcome(text, calls, [last.prompt_eval_count, last.eval_count])

    tools = {"tools": [OPENAI_TOOL]}
    yield "text", lambda: read([client.chat(**body)])
    yield "text streamed", lambda: read(client.chat(**body, stream=True))
    yield "call", lambda: read([client.chat(**body, **tools)])
    yield "call streamed", lambda: read(client.chat(**body, **tools, stream=True))


SDKS = [openai, anthropic, gemini, bedrock, cohere, mistral, ollama]

if __name__ == "__main__":
    request = json.load(sys.stdin)
    [sdk] = [each for each in SDKS if each.__name__ == request["sdk"]]
    outcomes = {}
    for name, call in sdk(request["url"]):
        try:
            outcomes[name] = call()
        except Exception as error:  # The test compares it.
            outcomes[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(outcomes))
