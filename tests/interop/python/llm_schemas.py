"""Checks requests against the schemas of LLM providers, which their packages have.

Reads lines of {"family", "model", "body"}; prints a list with the problems of each line.
"""

import collections.abc
import gzip
import json
import pathlib
import re
import sys
import types
import typing

import anthropic.types.beta
import botocore
import googleapiclient
import openai.types.chat.completion_create_params as openai_chat
import openai.types.responses.response_create_params as openai_responses
import typing_extensions

Problems = typing.Iterator[str]


def check_type(hint: typing.Any, value: typing.Any, path: str) -> Problems:
    """Checks a value against a type of the SDKs of OpenAI and Anthropic, which are made from their OpenAPI documents."""
    origin = typing_extensions.get_origin(hint)
    arguments = typing_extensions.get_args(hint)
    if origin in (typing.Required, typing.NotRequired, typing.Annotated):
        yield from check_type(arguments[0], value, path)
    elif origin in (typing.Union, types.UnionType):
        yield from check_union(arguments, value, path)
    elif origin is typing.Literal:
        if value not in arguments:
            yield f"{path}: {value!r} is none of {arguments}"
    elif origin in (dict, collections.abc.Mapping):
        yield from check_items(arguments[1], value, path, dict)
    elif origin is not None:
        yield from check_items(arguments[0], value, path, list)
    elif typing_extensions.is_typeddict(hint):
        yield from check_typed_dict(hint, value, path)
    elif hint in (str, bool, int) and type(value) is not hint:
        yield f"{path}: {value!r} is no {hint.__name__}"
    elif hint is float and type(value) not in (int, float):
        yield f"{path}: {value!r} is no number"
    elif hint is type(None) and value is not None:
        yield f"{path}: {value!r} is not null"
    elif hint not in (str, bool, int, float, object, typing.Any, type(None)):
        # Such as a message of an answer, which the SDKs take too.
        yield f"{path}: {value!r} is no {hint}"


def check_union(
    hints: typing.Sequence[typing.Any], value: typing.Any, path: str
) -> Problems:
    # The variant that fits best says the most.
    found = [list(check_type(hint, value, path)) for hint in hints]
    yield from min(found, key=lambda problems: (len(problems), str(problems)))


def check_items(
    hint: typing.Any, value: typing.Any, path: str, kind: type
) -> Problems:
    if not isinstance(value, kind):
        yield f"{path}: {value!r} is no {kind.__name__}"
        return
    for key, item in value.items() if kind is dict else enumerate(value):
        yield from check_type(hint, item, f"{path}[{key}]")


def check_typed_dict(hint: typing.Any, value: typing.Any, path: str) -> Problems:
    if not isinstance(value, dict):
        yield f"{path}: {value!r} is no object"
        return
    fields = typing_extensions.get_type_hints(hint, include_extras=True)
    for name, field in fields.items():
        is_required = typing_extensions.get_origin(field) is typing.Required
        if is_required and name not in value:
            yield f"{path}.{name} is missing"
    for name, item in value.items():
        if name in fields:
            yield from check_type(fields[name], item, f"{path}.{name}")
        else:
            yield f"{path}.{name} is unknown"


class BedrockSchema:
    """The service model of Bedrock."""

    def __init__(self) -> None:
        folder = pathlib.Path(botocore.__file__).parent / "data/bedrock-runtime"
        (file,) = folder.glob("*/service-2.json.gz")
        self.shapes = json.loads(gzip.decompress(file.read_bytes()))["shapes"]

    def check(self, name: str, value: typing.Any, path: str) -> Problems:
        shape = self.shapes[name]
        kind = shape["type"]
        if shape.get("document"):
            return
        yield from check_bounds(shape, value, path)
        if kind == "structure":
            yield from self.check_structure(shape, value, path)
        elif kind == "list":
            for index, item in enumerate(value):
                inner = f"{path}[{index}]"
                yield from self.check(shape["member"]["shape"], item, inner)
        elif kind == "map":
            for key, item in value.items():
                yield from self.check(shape["key"]["shape"], key, path)
                yield from self.check(
                    shape["value"]["shape"], item, f"{path}.{key}"
                )
        elif kind == "string":
            if not isinstance(value, str) or value not in shape.get(
                "enum", [value]
            ):
                yield f"{path}: {value!r} is none of {shape.get('enum', 'str')}"
            elif re.search(f"^(?:{shape.get('pattern', '(?s:.*)')})$", value) is None:
                yield f"{path}: {value!r} does not match {shape['pattern']}"
        elif kind == "blob":
            if re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", value) is None:
                yield f"{path}: {value[:40]!r} is no Base64"
        elif kind == "boolean" and not isinstance(value, bool):
            yield f"{path}: {value!r} is no boolean"
        elif kind in ("integer", "float") and type(value) not in (int, float):
            yield f"{path}: {value!r} is no number"

    def check_structure(
        self, shape: typing.Any, value: typing.Any, path: str
    ) -> Problems:
        if shape.get("union") and len(value) != 1:
            yield f"{path}: has {len(value)} members"
        for name in set(shape.get("required", [])) - value.keys():
            if "location" not in shape["members"][name]:
                yield f"{path}.{name} is missing"
        for name, item in value.items():
            member = shape["members"].get(name)
            if member is None or "location" in member:
                yield f"{path}.{name} is unknown"
            else:
                yield from self.check(member["shape"], item, f"{path}.{name}")


def check_bounds(shape: typing.Any, value: typing.Any, path: str) -> Problems:
    size = value if isinstance(value, (int, float)) else len(value)
    if not shape.get("min", size) <= size <= shape.get("max", size):
        yield f"{path}: {size} is not in {shape.get('min')}..{shape.get('max')}"


class GoogleSchema:
    """The discovery document of Vertex, whose requests are those of Gemini."""

    def __init__(self) -> None:
        folder = pathlib.Path(googleapiclient.__file__).parent
        file = folder / "discovery_cache/documents/aiplatform.v1.json"
        self.schemas = json.loads(file.read_text())["schemas"]

    def check(
        self, schema: typing.Any, value: typing.Any, path: str
    ) -> Problems:
        if "$ref" in schema:
            schema = self.schemas[schema["$ref"]]
        kind = schema["type"]
        if kind == "any":
            return
        if kind == "object":
            yield from self.check_object(schema, value, path)
        elif kind == "array":
            for index, item in enumerate(value):
                yield from self.check(schema["items"], item, f"{path}[{index}]")
        elif type(value) not in python_types[kind]:
            yield f"{path}: {value!r} is no {kind}"
        elif value not in schema.get("enum", [value]):
            yield f"{path}: {value!r} is none of {schema['enum']}"

    def check_object(
        self, schema: typing.Any, value: typing.Any, path: str
    ) -> Problems:
        rest = schema.get("additionalProperties")
        for name, item in value.items():
            member = schema.get("properties", {}).get(name, rest)
            if member is None:
                yield f"{path}.{name} is unknown"
            else:
                yield from self.check(member, item, f"{path}.{name}")


def without(body: dict[str, typing.Any], *names: str) -> typing.Any:
    return {name: body[name] for name in body.keys() - set(names)}


python_types = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
bedrock = BedrockSchema()
google = GoogleSchema()
checks = {
    "openai": lambda body: check_type(
        openai_chat.CompletionCreateParams, body, ""
    ),
    "responses": lambda body: check_type(
        openai_responses.ResponseCreateParams, body, ""
    ),
    # Models that still sample take these, which are gone from the types.
    "anthropic": lambda body: check_type(
        anthropic.types.beta.MessageCreateParams,
        without(body, "temperature", "top_p", "top_k"),
        "",
    ),
    "bedrock": lambda body: bedrock.check("ConverseRequest", body, ""),
    "gemini": lambda body: google.check(
        {"$ref": "GoogleCloudAiplatformV1GenerateContentRequest"}, body, ""
    ),
}
requests = [json.loads(line) for line in sys.stdin]
json.dump([list(checks[r["family"]](r["body"])) for r in requests], sys.stdout)
