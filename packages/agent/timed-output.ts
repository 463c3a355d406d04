/** Output of an instance with the times at which it was written: parts of it, and what follows. */
import type { ServerResponse } from 'node:http'
import type { ConsoleWish, OutputWish, TimedPart } from '@fairlead/base/net/agent-protocol.ts'
import { extentOf, readConsolePart } from './console.ts'
import type { ProgramInstance } from './instance.ts'

const partBytes = 256 * 1024

/** Undefined when it was never started, or has no earlier run. */
export function readTimedPart(
  { consoleFile, times }: ProgramInstance,
  wish: OutputWish,
  maxBytes: number,
): TimedPart | undefined {
  times.look()
  const previous = 'previous' in wish ? times.previousRun() : undefined
  if ('previous' in wish && previous === undefined) return undefined
  const place = previous === undefined ? placeOf(wish) : { offset: previous.start }
  const part = readConsolePart(consoleFile, place, maxBytes, previous?.end)
  return part && { ...part, times: times.between(part.offset, part.nextOffset) }

  function placeOf(wanted: OutputWish): ConsoleWish {
    if ('sinceMs' in wanted) return { offset: times.offsetSince(wanted.sinceMs) }
    if ('tail' in wanted || 'offset' in wanted) return wanted
    return { offset: extentOf(consoleFile)?.start ?? 0 }
  }
}

/** Lines of parts, until the instance or the reader has gone. */
export function followOutput(
  instance: ProgramInstance,
  offset: number,
  response: ServerResponse,
): void {
  let next = offset
  const send = (isLast: boolean) => {
    while (isLast || !response.writableNeedDrain) {
      const part = readTimedPart(instance, { offset: next }, partBytes)
      if (part === undefined || part.nextOffset === next || part.output === '') return
      next = part.nextOffset
      response.write(`${JSON.stringify(part)}\n`)
    }
  }
  const onGrew = () => send(false)
  const onEnded = () => {
    send(true)
    response.end()
  }
  instance.output.on('grew', onGrew).once('ended', onEnded)
  response.on('drain', onGrew)
  response.once('close', () => {
    instance.output.off('grew', onGrew).off('ended', onEnded)
  })
  send(false)
}
