"""Asks the runner before each use of a tool. A Hermes in which that cannot be does not run."""

import asyncio
import os
import sys
import threading

_asks = []
_work = os.getcwd()
# Where its own tools take a path.
_PATHS = {"read_file": "path", "write_file": "path", "patch": "path", "search_files": "path", "terminal": "workdir"}


def _make_whole(tool, args, task):
    """Relative paths count from where the shell stands, which a command can change: what is asked about is what is used."""
    from tools.file_tools import _resolve_base_dir

    name = _PATHS.get(tool)
    if name is None:
        return
    base, path = str(_resolve_base_dir(task or "default")), args.get(name)
    if path and isinstance(path, str):
        # The home's sign is refused by who is asked.
        if not path.lstrip().startswith("~"):
            args[name] = os.path.normpath(os.path.join(base, path))
    elif tool == "search_files" or (tool == "terminal" and base != _work):
        args[name] = base


def _why_not(tool, args, call):
    """Nothing when the tool may be used with exactly this."""
    import acp
    from acp.schema import PermissionOption

    send, loop, session = _asks[-1]
    # A script's own have no name of a call, and are not shown.
    asked = {"mooring": "may it?", "tool": tool, "input": args, "shown": bool(call)}
    update = acp.update_tool_call(call or "none", title=tool, raw_input=asked)
    options = [
        PermissionOption(option_id="yes", kind="allow_once", name="Yes"),
        PermissionOption(option_id="no", kind="reject_once", name="No"),
    ]
    question = send(session_id=session, tool_call=update, options=options)
    # A person may take as long as they like.
    answer = asyncio.run_coroutine_threadsafe(question, loop).result()
    if getattr(answer.outcome, "option_id", None) == "yes":
        return None
    return str((answer.field_meta or {}).get("why") or "it may not be used")


def _block(tool_name, args, task_id="", session_id="", tool_call_id="", *_, **__):
    # What fails here would be let past.
    try:
        if args is not None and not isinstance(args, dict):
            return "what the tool is given cannot be read"
        args = {} if args is None else args
        _make_whole(tool_name, args, task_id)
        return _why_not(tool_name, args, tool_call_id)
    except BaseException as error:
        return f"it could not be asked whether the tool may be used: {error!r}"


def _hold():
    from acp_adapter import server, session
    from hermes_cli import plugins
    from tools import file_operations
    from tools.environments import base

    callback, begin = server.make_approval_callback, base.BaseEnvironment.__init__
    make, restore = session.SessionManager._make_agent, session.SessionManager._restore
    restores = threading.local()
    home = os.environ["HERMES_HOME"]

    def with_ask(send, loop, session_id, *rest, **more):
        _asks[:] = [(send, loop, session_id)]
        return callback(send, loop, session_id, *rest, **more)

    def restored(self, session_id):
        restores.now = True
        try:
            return restore(self, session_id)
        finally:
            restores.now = False

    def agent(self, *, session_id, cwd, model=None, **provider):
        # What a conversation says of its provider the agent can have written, and some are programs with tools of their own.
        if getattr(restores, "now", False):
            provider = {}
        return make(self, session_id=session_id, cwd=cwd, model=model, **provider)

    def environment(self, *args, **more):
        begin(self, *args, **more)
        # Each command begins with it.
        self._snapshot_path = os.path.join(home, os.path.basename(self._snapshot_path))

    # Every use of a tool comes by here, and is looked up anew each time.
    if not callable(plugins.resolve_pre_tool_block):
        raise TypeError("resolve_pre_tool_block")
    server.make_approval_callback = with_ask
    session.SessionManager._make_agent = agent
    session.SessionManager._restore = restored
    base.BaseEnvironment.__init__ = environment
    plugins.resolve_pre_tool_block = _block
    # Programs of the working directory that look at what was written.
    file_operations.LINTERS.clear()


def register(_):
    try:
        _hold()
        # Before the answer to whoever opens a session, and in one write.
        os.write(1, b'{"jsonrpc": "2.0", "method": "_mooring/there"}\n')
    except BaseException as error:
        print(f"this version of Hermes cannot be held to its tools: {error!r}", file=sys.stderr, flush=True)
        os._exit(70)
