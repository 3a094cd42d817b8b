"""Scenarios: which turn answers a request.

A scenario file maps names to turns, `{"NAME": {"turns": [TURN, ...]}, "side_text": "..."}`. The newest message of the
user that holds `[scenario:NAME]` picks the scenario, `default` where none does; the number of tool results after that
message picks the turn. A request that offers no tools while the scenario uses some is a side request (a title, a
summary) and is answered with `side_text`.
"""
import json
import re

MARKER = re.compile(r"\[scenario:([A-Za-z0-9_.-]+)\]")


def text_of(content):
    """All text in the content of a message, whatever its nesting."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(part) for part in content)
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content"))
    return ""


def said(messages):
    """What was said so far: (who, text), who being `user`, `result` or `assistant`."""
    for message in messages:
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for block in blocks:
            is_result = block.get("type") == "tool_result"
            yield ("result" if is_result else message.get("role")), text_of(block)


class Scenarios:
    """The scenarios of a file."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.by_name = json.load(file)
        self.side_text = self.by_name.pop("side_text", "side")

    def turn(self, request):
        """The name of the scenario that a request asks for, and the turn that answers it."""
        name, results = "default", 0
        for who, text in said(request.get("messages") or []):
            markers = MARKER.findall(text) if who == "user" else []
            if markers:
                name, results = markers[-1], 0
            results += who == "result"
        if name not in self.by_name:
            return name, {"text": "There is no scenario %s." % name}
        turns = self.by_name[name]["turns"]
        if not request.get("tools") and any(turn.get("tools") for turn in turns):
            return name, {"text": self.side_text}
        for turn in turns[:-1]:
            if results == 0:
                return name, turn
            results -= max(1, len(turn.get("tools", ())))
            if results < 0:
                return name, turn
        return name, turns[-1]


def recall(rule, request):
    """An answer that depends on the conversation: `found` with the group of the newest match, else `missing`.

    Only what the conversation itself holds can make it come out as `found`, which is what a test of memory needs. A
    rule with `anywhere` looks through the whole request, instructions and tools included.
    """
    if rule.get("anywhere"):
        texts = [json.dumps(request, ensure_ascii=False)]
    else:
        texts = [text for who, text in said(request.get("messages") or []) if who == "user"]
    matches = re.findall(rule["pattern"], "\n".join(texts))
    return rule["found"].replace("$1", matches[-1]) if matches else rule["missing"]
