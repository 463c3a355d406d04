/** Output of a program: the newest lines first, then what is new, by offset, and on demand what came before. */

import { objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { byteLength, toTextOfBytes, withNext } from '../model/log-lines.ts'
import { client, type Schemas } from './client.ts'
import { useLive } from './live.ts'

const path = '/instances/{account}/{region}/{instanceId}/console'

/** A program whose output can be read. */
export interface OutputPlace {
  readonly account: string
  readonly region: string
  readonly id: string
  readonly provider: string | undefined
  /** One of several logs. */
  readonly container?: string
  /** Output of the run before the present one. */
  readonly isPrevious?: boolean
}

interface Output {
  readonly text: string
  /** Bytes of the whole output before the text. */
  readonly startByte: number
  /** Number of the first line, as far as the service counts. */
  readonly firstLine: number
  /** Where the next part begins; undefined where the service answers with everything each time. */
  readonly nextByte: number | undefined
  /** There may be earlier output that the page has room for. */
  readonly hasEarlier: boolean
}

const firstLines = 2000
/** Read before a wanted line. */
const beforeBytes = 65_536
/** The service answers with so much at most. */
const partBytes = 1_048_576
/** When there is more, the page keeps only the last lines. */
const maxCharacters = 8_000_000
const keptCharacters = 6_000_000

/** @param line First byte of a line that shall be among the text */
export function useOutput(place: OutputPlace, line: number | undefined) {
  const [wanted, setWanted] = useState(line)
  const [output, setOutput] = useState<Output>()
  const [next, setNext] = useState<number>()
  const first =
    wanted === undefined ? { tail: firstLines } : { offset: Math.max(0, wanted - beforeBytes) }
  const parameters = parametersOf(place, next === undefined ? first : { offset: next })
  const { body, error } = useLive(path, parameters, { refresh: 'live', isBusy: () => true })
  useEffect(() => {
    if (body === undefined) return
    const part = toOutput(body, place)
    const begin = wanted === undefined ? part : fromWholeLine(part)
    setOutput((before) =>
      limited((next !== undefined && before && withNext(before, part)) || begin),
    )
    setNext(body.nextOffset)
  }, [body])
  const firstLine = useFirstLine(place, output, wanted !== undefined)
  return {
    output: output && { ...output, firstLine },
    error,
    /** @throws {ApiError} */
    async readEarlier() {
      const { startByte = 0 } = output ?? {}
      const earlier = fromWholeLine(
        toOutput(await ask(place, { offset: Math.max(0, startByte - partBytes) }), place),
      )
      // Its beginning may have been dropped meanwhile.
      setOutput((present) =>
        present?.startByte === startByte ? withEarlier(present, earlier) : present,
      )
    },
    /** Reads on from shortly before a line instead. */
    readAt(byte: number) {
      setNext(undefined)
      setWanted(byte)
    },
  }
}

/** The first bytes of lines of all output; undefined where the service does not search. */
export async function findInOutput(place: OutputPlace, text: string) {
  const { matches, hasMoreMatches: isCut = false } = await ask(place, { find: text })
  return matches && { bytes: matches.map(({ offset }) => offset), isCut }
}

function parametersOf(
  { account, region, id, provider, container, isPrevious }: OutputPlace,
  part: object,
) {
  const query = { provider, ...part, container, ...(isPrevious && { previous: 'true' }) }
  return { path: { account, region, instanceId: id }, query }
}

/** @throws {ApiError} */
function ask(place: OutputPlace, part: { offset: number } | { find: string }) {
  return client.GET(path, { params: parametersOf(place, part) })
}

/** The service counts lines at the end of the output alone: numbers are right once the text reaches that. */
function useFirstLine(place: OutputPlace, output: Output | undefined, isCounted: boolean) {
  const { body: end } = useLive(
    path,
    isCounted ? parametersOf(place, { tail: 0 }) : undefined,
    'open',
  )
  const { text = '', startByte = 0, nextByte = 0, firstLine = 1 } = output ?? {}
  const isReached = end?.offset !== undefined && nextByte >= end.offset
  const counted = useMemo(
    () =>
      isReached
        ? (end.line ?? 1) - linesIn(toTextOfBytes(text, (end.offset ?? 0) - startByte))
        : undefined,
    [isReached, startByte],
  )
  return counted ?? firstLine
}

function toOutput(
  { output, offset = 0, nextOffset, line = 1 }: Schemas['ConsoleOutput'],
  { container }: OutputPlace,
) {
  const text = toText(output, container)
  return { text, startByte: offset, firstLine: line, nextByte: nextOffset, hasEarlier: offset > 0 }
}

/** A part that begins anywhere begins within a line. */
function fromWholeLine(part: Output) {
  return part.startByte === 0 ? part : fromLineAfter(part, 0)
}

function limited(output: Output) {
  const { length } = output.text
  return length <= maxCharacters
    ? output
    : { ...fromLineAfter(output, length - keptCharacters), hasEarlier: false }
}

/** @param at In characters */
function fromLineAfter(output: Output, at: number) {
  const begin = output.text.indexOf('\n', at) + 1
  const dropped = output.text.slice(0, begin)
  return {
    ...output,
    text: output.text.slice(begin),
    startByte: output.startByte + byteLength(dropped),
    firstLine: output.firstLine + linesIn(dropped),
  }
}

function withEarlier(present: Output, { text: part, startByte, nextByte = 0 }: Output) {
  const bytes = present.startByte - startByte
  if (bytes <= 0 || nextByte < present.startByte) return { ...present, hasEarlier: false }
  const before = toTextOfBytes(part, bytes)
  const text = before + present.text
  const hasEarlier = startByte > 0 && text.length + partBytes <= maxCharacters
  return {
    ...present,
    text,
    startByte,
    firstLine: Math.max(1, present.firstLine - linesIn(before)),
    hasEarlier,
  }
}

function linesIn(text: string) {
  return text.split('\n').length - 1
}

/** One text, or a list of logs with their names. */
export function toText(output: unknown, container?: string): string {
  if (typeof output === 'string') return output
  const logs = objectsOf(output).map((log) => ({
    name: scalarOf(log['name']) ?? '',
    text: scalarOf(log['output']) ?? '',
  }))
  const only = logs.length === 1 ? logs[0] : logs.find(({ name }) => name === container)
  return only?.text ?? logs.map(({ name, text }) => `== ${name} ==\n${text}`).join('\n')
}
