// agents.tmux bridge: tells tmux what this agent does. Written by `agents install`, which also overwrites and removes it.
// It waits for nothing, prints nothing, decides nothing, and without its wrapper it does nothing.
import { spawn } from "node:child_process"

const HOOK = "@HOOK@"
const AGENT = "@AGENT@"
const TOLD = [
  "session_start", "session_shutdown", "input", "agent_start", "agent_settled",
  "tool_execution_start", "tool_execution_end", "ui_prompt_start", "ui_prompt_end",
]
const KEPT = ["type", "reason", "source", "aborted", "kind", "title", "toolCallId", "toolName", "args", "isError"]
const LONGEST = 2000
const MOST_WAITING = 200
const PATIENCE_MS = 2000

// One after the other: their files are ordered by the time they are written.
const waiting = []
let busy = false

function start(event, payload, done) {
  let over = false
  const end = () => {
    if (over) return
    over = true
    clearTimeout(timer)
    done()
  }
  const timer = setTimeout(end, PATIENCE_MS)
  timer.unref?.()
  try {
    const child = spawn(HOOK, [AGENT, event], { stdio: ["pipe", "ignore", "ignore"], detached: true })
    child.on("error", end)
    child.on("exit", end)
    child.stdin.on("error", () => {})
    child.stdin.end(payload)
    child.unref()
  } catch {
    end()
  }
}

function next() {
  const job = waiting.shift()
  busy = Boolean(job)
  if (job) start(job.event, job.payload, next)
}

function written(value) {
  return JSON.stringify(value, (_, part) => (typeof part === "string" ? part.slice(0, LONGEST) : part))
}

function tell(event, value) {
  try {
    waiting.push({ event, payload: written(value) })
    if (waiting.length > MOST_WAITING) waiting.shift()
    if (!busy) next()
  } catch {}
}

function session(ctx) {
  try {
    return ctx?.sessionManager?.getSessionId?.()
  } catch {
    return undefined
  }
}

export default function (pi) {
  for (const name of TOLD) {
    try {
      pi.on(name, (event, ctx) => {
        try {
          if (ctx?.hasUI === false) return // `pi -p`, `--mode json`: nobody can be asked there
          const told = { session_id: session(ctx) }
          for (const key of KEPT) if (event?.[key] !== undefined) told[key] = event[key]
          tell(name, told)
          // The process may end now: nothing that waits could be started later.
          if (name === "session_shutdown")
            for (const job of waiting.splice(0)) start(job.event, job.payload, () => {})
        } catch {}
      })
    } catch {}
  }
}
