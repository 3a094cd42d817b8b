"""Answers in the form of Gemini's API, whole or as a stream of chunks. Requests are read as if they were of the Messages
API, so that a scenario need not know who asks."""
import json

import messages as anthropic
from messages import pieces
from scenario import text_of

ERRORS = {
    "400": (400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    "401": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "404": (404, "NOT_FOUND", "models/scripted is not found for API version v1beta, or is not supported for generateContent."),
    "429": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    "500": (500, "INTERNAL", "An internal error has occurred."),
    "529": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "quota": (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details."),
    "overflow": (400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
}

STATUSES = {name: status for name, (status, _, _) in ERRORS.items()}


def error(name):
    """The body of an error, in the API's own words."""
    status, state, message = ERRORS[name]
    return {"error": {"code": status, "message": message, "status": state}}


def as_messages(request, model, stream):
    """The conversation in a request as messages."""
    said = []
    for content in request.get("contents") or []:
        for part in content.get("parts") or []:
            if "functionResponse" in part:
                result = {"type": "tool_result", "content": json.dumps(part["functionResponse"])}
                said.append({"role": "user", "content": [result]})
            else:
                role = "assistant" if content.get("role") == "model" else "user"
                said.append({"role": role, "content": part.get("text", "")})
    offers = [offer for group in request.get("tools") or [] for offer in group.get("functionDeclarations") or []]
    tools = [
        {"name": offer.get("name"), "description": offer.get("description"), "input_schema": offer.get("parametersJsonSchema") or offer.get("parameters")}
        for offer in offers
    ]
    heard = text_of((request.get("systemInstruction") or {}).get("parts"))
    return dict(request, messages=said, tools=tools, system=heard, model=model, stream=stream)


def parts(turn, request, number):
    """What an answer consists of, in pieces as a stream has them."""
    size = turn.get("chunk_size", 24)
    for block in anthropic.blocks(turn, request, number):
        if block["type"] == "thinking":
            yield from ({"text": piece, "thought": True} for piece in pieces(block["thinking"], size))
        elif block["type"] == "text":
            yield from ({"text": piece} for piece in pieces(block["text"], size))
        else:
            call = {"name": block["name"], "args": block["input"], "id": block["id"]}
            yield {"functionCall": call, "thoughtSignature": "c2NyaXB0ZWQ="}


def usage(turn):
    told = turn.get("usage", {})
    prompt = told.get("input", 100) + told.get("cache_read", 0) + told.get("cache_write", 0)
    answer = told.get("output", 20)
    return {
        "promptTokenCount": prompt,
        "candidatesTokenCount": answer,
        "cachedContentTokenCount": told.get("cache_read", 0),
        "totalTokenCount": prompt + answer,
    }


def chunk(turn, request, number, made, finish=None):
    candidate = {"content": {"role": "model", "parts": made}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "usageMetadata": usage(turn), "modelVersion": request["model"], "responseId": "resp-%06d" % number}


def message(turn, request, number):
    """A whole answer."""
    return chunk(turn, request, number, list(parts(turn, request, number)), "STOP")


def events(turn, request, number):
    """The same answer as a stream; its chunks have no names."""
    for part in parts(turn, request, number):
        yield None, chunk(turn, request, number, [part])
    yield None, chunk(turn, request, number, [{"text": ""}], "STOP")
