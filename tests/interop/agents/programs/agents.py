"""Runs a conversation of pydantic-ai or LangChain with a tool, over the API of the second argument, and says what the model says last."""
import os
import sys

GATEWAY = os.environ["GATEWAY"]
KEY = "client-key"
TASK = "What is the weather in ten cities?"
BEARER = {"authorization": f"Bearer {KEY}"}


def get_weather(city: str) -> str:
    """Weather of a city."""
    return f"{city}: 12 degrees"


def pydantic_ai(api):
    from pydantic_ai import Agent
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.google import GoogleProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    def openai():
        return OpenAIProvider(base_url=GATEWAY + "/v1", api_key=KEY)

    def anthropic():
        from anthropic import AsyncAnthropic

        client = AsyncAnthropic(base_url=GATEWAY, auth_token=KEY)
        return AnthropicProvider(anthropic_client=client)

    def google():
        from google.genai import Client
        from google.genai.types import HttpOptions

        options = HttpOptions(base_url=GATEWAY, headers=BEARER)
        return GoogleProvider(client=Client(api_key=KEY, http_options=options))

    models = {
        "chat": lambda: OpenAIChatModel("model", provider=openai()),
        "responses": lambda: OpenAIResponsesModel("model", provider=openai()),
        "messages": lambda: AnthropicModel("model", provider=anthropic()),
        "gemini": lambda: GoogleModel("gemini-3-flash", provider=google()),
    }
    return Agent(models[api](), tools=[get_weather]).run_sync(TASK).output


def langchain(api):
    from langchain.agents import create_agent

    def openai(**more):
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(
            model="model", base_url=GATEWAY + "/v1", api_key=KEY, **more
        )

    def anthropic():
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(
            model="model", base_url=GATEWAY, api_key=KEY, default_headers=BEARER
        )

    def google():
        from langchain_google_genai import ChatGoogleGenerativeAI

        return ChatGoogleGenerativeAI(
            model="gemini-3-flash",
            google_api_key=KEY,
            base_url=GATEWAY,
            additional_headers=BEARER,
        )

    models = {
        "chat": openai,
        "responses": lambda: openai(use_responses_api=True),
        "messages": anthropic,
        "gemini": google,
    }
    agent = create_agent(models[api](), tools=[get_weather])
    state = agent.invoke(
        {"messages": [("user", TASK)]}, {"recursion_limit": 100}
    )
    return state["messages"][-1].text


print({"pydantic-ai": pydantic_ai, "langchain": langchain}[sys.argv[1]](sys.argv[2]))
