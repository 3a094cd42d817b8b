// Loaded by pi before anything of the agent's: each use of a tool waits for the runner's yes, which is asked over pi's own
// protocol. Without a yes nothing runs; pi itself blocks a tool whose handler fails.
export default function (pi) {
  pi.on("session_start", (_event, ctx) => {
    ctx.ui.notify("mooring: the gate is there");
  });
  pi.on("tool_call", async (event, ctx) => {
    const said = JSON.stringify({
      call: event.toolCallId,
      tool: event.toolName,
      input: event.input,
      cwd: ctx.cwd,
    });
    const answer = await ctx.ui.input("mooring: may it?", said, { signal: ctx.signal });
    if (answer !== "yes") {
      return { block: true, reason: answer || "it may not be used" };
    }
    // What runs is what was said, whatever has become of it meanwhile.
    const { input } = JSON.parse(said);
    if (input && typeof input === "object" && event.input && typeof event.input === "object") {
      for (const name of Object.keys(event.input)) delete event.input[name];
      // Not by assignment: what inherits could have setters.
      for (const [name, value] of Object.entries(input)) {
        Object.defineProperty(event.input, name, { value, writable: true, enumerable: true, configurable: true });
      }
    }
  });
}
