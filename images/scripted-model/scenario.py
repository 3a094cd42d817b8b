"""Scenarios: which turn answers a request.

A scenario file maps names to turns, `{"NAME": {"turns": [TURN, ...]}, "side_text": "..."}`. The newest message of the
user that holds `[scenario:NAME]` picks the scenario, `default` where none does; the number of tool results after that
message picks the turn. A message may also spell the turns out itself, in lines that begin with `do:` (see `dictated`); they
count also where they are quoted. A request that offers no tools while the scenario uses some is a side request (a title, a
summary) and is answered with `side_text`.
"""
import collections
import json
import re
import threading

LINE = re.compile(r"^(?:> ?)*(do|remember): ?(.*)$", re.MULTILINE)
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


def dictated(lines, words):
    """The turns that the lines of a message spell out, as the stand-in of `images/fakes` reads them.

    `run COMMAND` is a tool call, `think TEXT` and `sleep SECONDS` go before the next step, `answer TEXT` or `recall`, which
    says every word that `remember: WORD` gave so far, is the end.
    """
    turns, before, end = [], {}, "Done."
    for line in lines:
        verb, _, argument = line.partition(" ")
        if argument.startswith('"'):
            argument = json.loads(argument)
        if verb == "think":
            before["thinking"] = argument
        elif verb == "sleep":
            before["delay_ms"] = int(float(argument) * 1000)
        elif verb == "run":
            turns.append(dict(before, tools=[{"do": "shell", "command": argument}]))
            before = {}
        elif verb == "answer":
            end = argument
        elif verb == "recall":
            end = " ".join(words) or "nothing"
    return turns + [dict(before, text=end)]


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
        self.lock = threading.Lock()
        self.asked = collections.Counter()

    def turn(self, request):
        """The name of the scenario that a request asks for, and the turn that answers it. A turn with `then` is played
        once; that which stands there answers whoever asks again."""
        name, turn = self.scripted(request)
        if "then" not in turn:
            return name, turn
        with self.lock:
            self.asked[name] += 1
            return name, turn if self.asked[name] == 1 else turn["then"]

    def scripted(self, request):
        name, results, script, words = "default", 0, None, []
        for who, text in said(request.get("messages") or []):
            markers = MARKER.findall(text) if who == "user" else []
            lines = LINE.findall(text) if who == "user" else []
            words += [word for kind, word in lines if kind == "remember"]
            steps = [step for kind, step in lines if kind == "do"]
            if markers:
                name, results, script = markers[-1], 0, None
            elif steps:
                name, results, script = "dictated", 0, steps
            results += who == "result"
        if script is None and name not in self.by_name:
            return name, {"text": "There is no scenario %s." % name}
        turns = self.by_name[name]["turns"] if script is None else dictated(script, words)
        if not request.get("tools") and any(turn.get("tools") for turn in turns):
            return name, {"text": self.side_text, "side": True}
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


def named(tool, request):
    """The name of a scripted tool call: of what the request offers the first one that looks `like` it, else `name`."""
    offers = offered(request)
    alike = [name for name in offers if "like" in tool and re.search(tool["like"], name)]
    return alike[0] if alike else tool["name"]


def offered(request):
    """The names of the tools that a request offers."""
    offers = request.get("tools") or []
    return [offer.get("name") or (offer.get("function") or {}).get("name") or "" for offer in offers]
