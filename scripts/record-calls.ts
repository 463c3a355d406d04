/**
 * Loaded into each thread of a checkout by `count-walks.ts`: counts the calls of its functions, and hands them over to who connects
 * to `$CALLS_FOLDER/<process id>.<thread>`, one line of JSON: `["packages/base/file.ts:function:line", …]`, called since the last time.
 */
import { rmSync } from 'node:fs'
import { Session } from 'node:inspector'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { threadId } from 'node:worker_threads'

const { CALLS_FOLDER: folder, CALLS_OF: checkout } = process.env
if (folder !== undefined && checkout !== undefined)
  record(folder, pathToFileURL(`${checkout}/packages/`).href)

function record(to: string, source: string): void {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const server = createServer((socket) => {
    session.post('Profiler.takePreciseCoverage', (error, answer) => {
      const files = error === null ? answer.result.filter(({ url }) => url.startsWith(source)) : []
      const called = files.flatMap(({ url, functions }) =>
        functions
          .filter(
            ({ ranges: [range], functionName }) =>
              range !== undefined && range.count > 0 && functionName !== '',
          )
          .map(
            ({ functionName, ranges: [range] }) =>
              `packages/${url.slice(source.length)}:${functionName}:${range?.startOffset}`,
          ),
      )
      socket.end(`${JSON.stringify(called)}\n`)
    })
  })
  const path = join(to, `${process.pid}.${threadId}`)
  rmSync(path, { force: true })
  server.listen(path).unref()
}
