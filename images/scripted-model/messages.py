"""Answers in the form of the Anthropic Messages API, whole or as a stream of events."""
import json

from scenario import named, offered, recall

# The tools by which a scenario may call for something without knowing the CLI's words, and their main arguments.
TOOLS = {"shell": ("Bash", "command"), "read": ("Read", "file_path"), "write": ("Write", "file_path")}

ERRORS = {
    "400": ("invalid_request_error", "messages: at least one message is required"),
    "401": ("authentication_error", "invalid x-api-key"),
    "404": ("not_found_error", "model: scripted"),
    "429": ("rate_limit_error", "This request would exceed your account's rate limit. Please try again later."),
    "500": ("api_error", "Internal server error"),
    "529": ("overloaded_error", "Overloaded"),
    "quota": ("invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."),
    "overflow": ("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
}

# The statuses of errors that are not called by theirs.
STATUSES = {"quota": 400, "overflow": 400}


def error(name):
    """The body of an error, in the API's own words."""
    kind, message = ERRORS[name]
    return {"type": "error", "error": {"type": kind, "message": message}}


# What some agents call their shell.
OTHER_NAMES = {
    "Bash": ("run_shell_command", "terminal", "exec", "execute_shell_command"),
    "Write": ("write_file",),
}


def call(tool, request):
    """Name and arguments of a scripted tool call: by `name`, or by what it is to `do`, with the words of the tool that
    the request offers for that. Some offer a tool only `through` another one: that is called where it is offered."""
    through = tool.get("through") or {}
    if through.get("name") in offered(request):
        return through["name"], through["input"]
    if "name" in tool:
        return named(tool, request), tool.get("input", {})
    name, argument = TOOLS[tool["do"]]
    offers = {offer.get("name", "").lower(): offer for offer in request.get("tools") or []}
    offer = next((offers[other] for other in (name.lower(), *OTHER_NAMES.get(name, ())) if other in offers), {})
    known = (offer.get("input_schema") or {}).get("properties") or {}
    name = offer.get("name", name)
    if known and argument not in known:
        argument = "path"
    arguments = {argument: tool.get("command", tool.get("path"))}
    if tool["do"] == "shell" and (not known or "description" in known):
        arguments["description"] = "Scripted command"
    if "content" in tool:
        arguments["content"] = tool["content"]
    for required in (offer.get("input_schema") or {}).get("required") or []:
        arguments.setdefault(required, filled(known.get(required) or {}))
    return name, arguments


def filled(schema):
    """A value for an argument of which a scenario knows nothing."""
    if schema.get("enum"):
        return schema["enum"][0]
    return {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}.get(str(schema.get("type")).lower(), "scripted")


def blocks(turn, request, number):
    """The content of an answer."""
    content = []
    if "thinking" in turn:
        content.append({"type": "thinking", "thinking": turn["thinking"], "signature": "c2NyaXB0ZWQ="})
    text = recall(turn["recall"], request) if "recall" in turn else turn.get("text")
    if text:
        content.append({"type": "text", "text": text})
    for index, tool in enumerate(turn.get("tools", ())):
        name, arguments = call(tool, request)
        content.append({"type": "tool_use", "id": "toolu_%06d_%d" % (number, index), "name": name, "input": arguments})
    return content


def message(turn, request, number):
    """A whole answer."""
    content = blocks(turn, request, number)
    calls = any(block["type"] == "tool_use" for block in content)
    usage = turn.get("usage", {})
    return {
        "id": "msg_%06d" % number,
        "type": "message",
        "role": "assistant",
        "model": request.get("model", "scripted"),
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.get("input", 100),
            "output_tokens": usage.get("output", 20),
            "cache_read_input_tokens": usage.get("cache_read", 0),
            "cache_creation_input_tokens": usage.get("cache_write", 0),
        },
    }


def events(turn, request, number):
    """The same answer as a stream: (name, data) of each event."""
    whole = message(turn, request, number)
    begun = dict(whole, content=[], stop_reason=None, usage=dict(whole["usage"], output_tokens=1))
    yield event("message_start", message=begun)
    for index, block in enumerate(whole["content"]):
        yield event("content_block_start", index=index, content_block=empty(block))
        for delta in deltas(block, turn.get("chunk_size", 24)):
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=end, usage=whole["usage"])
    yield event("message_stop")


def event(kind, **fields):
    return kind, dict(fields, type=kind)


def empty(block):
    """A block as a stream begins it."""
    if block["type"] == "text":
        return {"type": "text", "text": ""}
    if block["type"] == "thinking":
        return {"type": "thinking", "thinking": "", "signature": ""}
    return dict(block, input={})


def deltas(block, size):
    """What a stream adds to a block, in pieces."""
    if block["type"] == "text":
        return [{"type": "text_delta", "text": piece} for piece in pieces(block["text"], size)]
    if block["type"] == "thinking":
        thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"], size)]
        return thoughts + [{"type": "signature_delta", "signature": block["signature"]}]
    arguments = json.dumps(block["input"])
    return [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(arguments, size)]


def pieces(text, size):
    return [text[start : start + size] for start in range(0, len(text), size)]
