"""Answers in the form of the OpenAI Chat Completions API, whole or as a stream of pieces. Requests are read as if they
were of the Messages API, so that a scenario need not know who asks."""
import json
import time

import messages as anthropic
from messages import pieces
from responses import ERRORS, STATUSES
from scenario import recall, text_of

__all__ = ["STATUSES", "as_messages", "error", "events", "message"]

OVERFLOW = "This model's maximum context length is 128000 tokens. However, your messages resulted in 130112 tokens. Please reduce the length of the messages."


def error(name):
    """The body of an error, in the API's own words."""
    kind, code, message = ERRORS[name]
    message = OVERFLOW if name == "overflow" else message
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def as_messages(request):
    """The conversation in a request as messages."""
    said = []
    for item in request.get("messages") or []:
        text = text_of(item.get("content"))
        if item.get("role") == "tool":
            said.append({"role": "user", "content": [{"type": "tool_result", "content": text}]})
        elif item.get("role") in ("user", "assistant"):
            said.append({"role": item["role"], "content": text})
    offers = [offer.get("function") or {} for offer in request.get("tools") or []]
    tools = [{"name": offer.get("name"), "description": offer.get("description"), "input_schema": offer.get("parameters")} for offer in offers]
    heard = [text_of(item.get("content")) for item in request.get("messages") or [] if item.get("role") in ("system", "developer")]
    return dict(request, messages=said, tools=tools, system=heard)


def calls(turn, request, number):
    """The tool calls of an answer."""
    made = []
    for index, tool in enumerate(turn.get("tools", ())):
        name, arguments = anthropic.call(tool, request)
        function = {"name": name, "arguments": json.dumps(arguments)}
        made.append({"id": "call_%06d_%d" % (number, index), "type": "function", "function": function})
    return made


def text(turn, request):
    return recall(turn["recall"], request) if "recall" in turn else turn.get("text")


def usage(turn):
    told = turn.get("usage", {})
    prompt = told.get("input", 100) + told.get("cache_read", 0) + told.get("cache_write", 0)
    answer = told.get("output", 20)
    return {
        "prompt_tokens": prompt,
        "prompt_tokens_details": {"cached_tokens": told.get("cache_read", 0)},
        "completion_tokens": answer,
        "completion_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + answer,
    }


def frame(request, number, kind, choices, **more):
    bare = {"id": "chatcmpl-%06d" % number, "object": kind, "created": int(time.time())}
    return dict(bare, model=request.get("model", "scripted"), choices=choices, **more)


def message(turn, request, number):
    """A whole answer."""
    made = calls(turn, request, number)
    answer = {"role": "assistant", "content": text(turn, request), "refusal": None}
    if "thinking" in turn:
        answer["reasoning_content"] = turn["thinking"]
    if made:
        answer["tool_calls"] = made
    choice = {"index": 0, "message": answer, "logprobs": None, "finish_reason": "tool_calls" if made else "stop"}
    return frame(request, number, "chat.completion", [choice], usage=usage(turn))


def events(turn, request, number):
    """The same answer as a stream; its events have no names, and the last one is no JSON."""
    made = calls(turn, request, number)
    size = turn.get("chunk_size", 24)

    def piece(delta, finish=None):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return None, frame(request, number, "chat.completion.chunk", [choice])

    yield piece({"role": "assistant", "content": ""})
    for part in pieces(turn.get("thinking", ""), size):
        yield piece({"reasoning_content": part})
    for part in pieces(text(turn, request) or "", size):
        yield piece({"content": part})
    for index, call in enumerate(made):
        head = dict(call, index=index, function=dict(call["function"], arguments=""))
        yield piece({"tool_calls": [head]})
        for part in pieces(call["function"]["arguments"], size):
            yield piece({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield piece({}, "tool_calls" if made else "stop")
    yield None, frame(request, number, "chat.completion.chunk", [], usage=usage(turn))
    yield None, "[DONE]"
