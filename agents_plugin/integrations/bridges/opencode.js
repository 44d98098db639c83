// agents.tmux bridge: tells tmux what this agent does. Written by `agents install`, which also overwrites and removes it.
// It waits for nothing, prints nothing, decides nothing, and without its wrapper it does nothing.
import { spawn } from "node:child_process"

const HOOK = "@HOOK@"
const AGENT = "@AGENT@"
const TOLD = new Set([
  "session.created", "session.deleted", "session.status", "session.idle", "session.error", "session.compacted",
  "permission.asked", "permission.updated", "permission.replied",
  "question.asked", "question.replied", "question.rejected",
])
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

export const AgentsTmux = async () => ({
  event: async ({ event }) => {
    try {
      const { info, ...properties } = event.properties ?? {}
      // Of a session only who it is and whether it is a subagent's, by its parent.
      if (info) properties.info = { id: info.id, parentID: info.parentID }
      if (TOLD.has(event.type)) tell(event.type, properties)
    } catch {}
  },
  "chat.message": async (input) => tell("chat.message", { i: { sessionID: input?.sessionID, agent: input?.agent } }),
  "tool.execute.before": async (input, output) => {
    const { tool, sessionID, callID } = input ?? {}
    tell("tool.execute.before", { i: { tool, sessionID, callID }, o: { args: output?.args } })
  },
  "tool.execute.after": async (input) => {
    const { tool, sessionID, callID } = input ?? {}
    tell("tool.execute.after", { i: { tool, sessionID, callID } })
  },
  dispose: async () => {
    // The process ends now: nothing that waits could be started later.
    for (const job of waiting.splice(0)) start(job.event, job.payload, () => {})
    start("dispose", "{}", () => {})
  },
})
