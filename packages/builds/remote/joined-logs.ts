/** Log of a build that consists of those of its jobs. */
import { PortError } from '@fairlead/base/port-error.ts'

interface JobLog {
  /** Shown above it. */
  readonly title: string
  /** Undefined: the server has none. */
  load(maxBytes: number): Promise<Buffer | undefined>
}

const maxJobBytes = 8 * 1024 * 1024
const maxBytes = 16 * 1024 * 1024

/** A log that cannot be read is replaced with the reason; without any log, the failure is that of the build. */
export async function joinLogs(logs: readonly JobLog[]): Promise<string> {
  const parts: string[] = []
  let size = 0
  for (const { title, load } of logs) {
    const text =
      size >= maxBytes ? '[left out: the log of the build is too large]' : await loadText(load)
    size += text.length
    parts.push(`=== ${title} ===\n${text}${text.endsWith('\n') ? '' : '\n'}`)
  }
  return parts.join('\n')
}

async function loadText(load: JobLog['load']): Promise<string> {
  try {
    const bytes = await load(maxJobBytes)
    return bytes === undefined
      ? '[the build server has no log of this job]'
      : bytes.toString('utf8')
  } catch (error) {
    if (!(error instanceof PortError) || error.status === 503) throw error
    return `[the log cannot be read: ${error.message}]`
  }
}
