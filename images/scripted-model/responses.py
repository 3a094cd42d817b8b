"""Answers in the form of the OpenAI Responses API, whole or as a stream of events. Requests are read as if they were
of the Messages API, so that a scenario need not know who asks."""
import json
import time

from messages import pieces
from scenario import named, recall, text_of

# The names of a shell among the tools that a request offers, and of its argument.
SHELLS = ("exec_command", "shell", "shell_command")
COMMANDS = ("cmd", "command")

ERRORS = {
    "400": ("invalid_request_error", None, "Invalid value in request."),
    "401": ("invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-any."),
    "404": ("invalid_request_error", "model_not_found", "The model `scripted` does not exist or you do not have access to it."),
    "429": ("tokens", "rate_limit_exceeded", "Rate limit reached for scripted on requests per min. Please try again in 1s."),
    "500": ("server_error", None, "The server had an error while processing your request. Sorry about that!"),
    "529": ("server_error", None, "The engine is currently overloaded, please try again later"),
    "quota": ("insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
    "overflow": ("invalid_request_error", "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again."),
}

# The statuses of errors that are not called by theirs.
STATUSES = {"quota": 429, "overflow": 400}


def error(name):
    """The body of an error, in the API's own words."""
    kind, code, message = ERRORS[name]
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def as_messages(request):
    """The conversation in a request as messages."""
    items = request.get("input") or []
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    said = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") in ("user", "assistant"):
            said.append({"role": item["role"], "content": text_of(item.get("content"))})
        elif kind.endswith("_output"):
            result = {"type": "tool_result", "content": text_of(item.get("output"))}
            said.append({"role": "user", "content": [result]})
    return dict(request, messages=said)


def call(tool, request):
    """Name and arguments of a scripted tool call: by `name`, or by what it is to `do`, which is always the shell."""
    if "name" in tool:
        return named(tool, request), tool.get("input", {})
    command = tool["command"] if tool["do"] == "shell" else "cat '%s'" % tool["path"]
    if tool["do"] == "write":
        command = "printf %%s '%s' > '%s'" % (tool["content"], tool["path"])
    offered = {offer.get("name"): offer for offer in request.get("tools") or []}
    name = next((name for name in SHELLS if name in offered), SHELLS[0])
    known = (offered.get(name, {}).get("parameters") or {}).get("properties") or {}
    argument = next((argument for argument in COMMANDS if argument in known), COMMANDS[0])
    listed = known.get(argument, {}).get("type") == "array"
    return name, {argument: ["bash", "-lc", command] if listed else command}


def placed(name, request):
    """A name as this API wants it: a tool of an MCP server that the request does not offer by itself is in a namespace."""
    space, _, short = name.rpartition("__")
    offered = [offer.get("name") for offer in request.get("tools") or []]
    return {"name": short, "namespace": space} if name.startswith("mcp__") and name not in offered else {"name": name}


def items(turn, request, number):
    """What an answer consists of."""
    made = []
    if "thinking" in turn:
        summary = [{"type": "summary_text", "text": turn["thinking"]}]
        made.append({"id": "rs_%06d" % number, "type": "reasoning", "summary": summary, "encrypted_content": "c2NyaXB0ZWQ="})
    text = recall(turn["recall"], request) if "recall" in turn else turn.get("text")
    if text:
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        made.append({"id": "msg_%06d" % number, "type": "message", "status": "completed", "role": "assistant", "content": [part]})
    for index, tool in enumerate(turn.get("tools", ())):
        name, arguments = call(tool, request)
        made.append({
            "id": "fc_%06d_%d" % (number, index),
            "type": "function_call",
            "status": "completed",
            "call_id": "call_%06d_%d" % (number, index),
            **placed(name, request),
            "arguments": json.dumps(arguments),
        })
    return made


def response(turn, request, number, output, status="completed"):
    usage = turn.get("usage", {})
    prompt = usage.get("input", 100) + usage.get("cache_read", 0) + usage.get("cache_write", 0)
    answer = usage.get("output", 20)
    return {
        "id": "resp_%06d" % number,
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "error": None,
        "model": request.get("model", "scripted"),
        "output": output,
        "parallel_tool_calls": True,
        "tools": [],
        "metadata": {},
        "usage": {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": usage.get("cache_read", 0)},
            "output_tokens": answer,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": prompt + answer,
        },
    }


def message(turn, request, number):
    """A whole answer."""
    return response(turn, request, number, items(turn, request, number))


def events(turn, request, number):
    """The same answer as a stream: (name, data) of each event."""
    sent = 0
    for kind, fields in bare_events(turn, request, number):
        yield kind, dict(fields, type=kind, sequence_number=sent)
        sent += 1


def bare_events(turn, request, number):
    begun = dict(response(turn, request, number, [], "in_progress"), usage=None)
    yield "response.created", {"response": begun}
    output = items(turn, request, number)
    size = turn.get("chunk_size", 24)
    for index, item in enumerate(output):
        place = {"item_id": item["id"], "output_index": index}
        yield "response.output_item.added", {"output_index": index, "item": empty(item)}
        if item["type"] == "reasoning":
            part = item["summary"][0]
            where = dict(place, summary_index=0)
            yield "response.reasoning_summary_part.added", dict(where, part=dict(part, text=""))
            for piece in pieces(part["text"], size):
                yield "response.reasoning_summary_text.delta", dict(where, delta=piece)
            yield "response.reasoning_summary_text.done", dict(where, text=part["text"])
        elif item["type"] == "message":
            part = item["content"][0]
            where = dict(place, content_index=0)
            yield "response.content_part.added", dict(where, part=dict(part, text=""))
            for piece in pieces(part["text"], size):
                yield "response.output_text.delta", dict(where, delta=piece, logprobs=[])
            yield "response.output_text.done", dict(where, text=part["text"], logprobs=[])
        else:
            for piece in pieces(item["arguments"], size):
                yield "response.function_call_arguments.delta", dict(place, delta=piece)
            yield "response.function_call_arguments.done", dict(place, arguments=item["arguments"], name=item["name"])
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield "response.completed", {"response": response(turn, request, number, output)}


def empty(item):
    """An item as a stream begins it."""
    if item["type"] == "reasoning":
        return dict(item, summary=[])
    if item["type"] == "message":
        return dict(item, content=[], status="in_progress")
    return dict(item, arguments="", status="in_progress")
