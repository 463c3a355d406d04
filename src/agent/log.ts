/** The agent's log: JSON lines on standard error, redirected to the data directory. */

type Write = (fields: object, text: string) => void

/** The part of a pino log that the agent and its client use. */
export interface AgentLog {
  readonly info: Write
  readonly warn: Write
  readonly error: Write
}

/** @param write Takes one line, line end included. */
export function createAgentLog(write: (line: string) => void): AgentLog {
  const writer =
    (level: string): Write =>
    (fields, text) => {
      write(`${JSON.stringify({ time: new Date().toISOString(), level, msg: text, ...toPlain(fields) })}\n`)
    }
  return { info: writer('info'), warn: writer('warn'), error: writer('error') }
}

/** Errors have no enumerable properties. */
function toPlain(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? (value.stack ?? value.message) : value]),
  )
}
