/** The place that a message names, else the first frame of its trace in files of the user. */
import type { Line } from './clean-line.ts'

/** Forms of a place within the message itself. */
const named: readonly RegExp[] = [
  /^(?:\S+: )?([^\s:()]+)\((\d+),\d+\): /,
  /^(\S[^\s:[]*):\[(\d+),\d+\]/,
  /^(?:[\w-]+: )?((?:[A-Za-z]:)?[^\s:"'()[\]]+\.[A-Za-z]\w*):(\d+)(?::|\b)/,
  /\b(?:in|at) ([^\s:"'()]+):(\d+)\b/,
]
const frames: readonly RegExp[] = [
  /^\s*at (?:.*[\s(])?((?:file:\/\/)?(?:[A-Z]:)?[^\s():]+):(\d+)(?::\d+)?\)?$/,
  /^\t([^\s:]+\.go):(\d+)/,
  /^\s*-->\s+(\S+?):(\d+):\d+/,
  /\bon (\S+) line (\d+)/,
  /^\s*(?:from )?([^\s:]+\.rb):(\d+):in /,
  /^\s*[❯›] (\S+?):(\d+):\d+/,
  /^#\d+ ([^\s(]+)\((\d+)\): /,
]
const pythonFrame = /^\s*File "([^"]+)", line (\d+)/
const foreign =
  /node_modules|site-packages|lib\/python|^\/usr\/|(?:^|[\s(])node:|\b(?:java|jdk|sun)[./]|org[./](?:junit|springframework)|vendor\/|\.cargo\/|\/rustc\/|<\w+>/
const reach = 20

interface Surroundings {
  readonly lines: readonly Line[]
  readonly header: Line | undefined
}

export function placeInOutput(line: Line, { lines, header }: Surroundings): string | undefined {
  for (const each of [line, header]) {
    const place = each && namedIn(each.text)
    if (place !== undefined) return place
  }
  return linted(line, lines) ?? raisedAt(line, lines) ?? firstFrame(header ?? line, lines)
}

function namedIn(text: string): string | undefined {
  for (const pattern of named) {
    const [, file, number] = pattern.exec(text) ?? []
    if (
      file !== undefined &&
      !foreign.test(file) &&
      !/^\d+(?:\.\d+)*$/.test(file) &&
      !text.includes(`//${file}`)
    )
      return `${file}:${number}`
  }
  return undefined
}

/** ESLint prints the file once, above its lines. */
function linted({ text, at, plain }: Line, lines: readonly Line[]): string | undefined {
  const [, number] = /^(\d+):\d+\s+error\s/.exec(text) ?? []
  if (number === undefined || !/^\s/.test(plain)) return undefined
  const file = lines
    .slice(Math.max(0, at - reach), at)
    .findLast((each) => /^\S+\.\w+$/.test(each.line))
  return file && `${file.text}:${number}`
}

/** Frames of Python stand above the exception, the innermost last. */
function raisedAt({ at, stream, lane }: Line, lines: readonly Line[]): string | undefined {
  const above = lines.slice(Math.max(0, at - reach), at)
  const start = above.findLastIndex((each) => each.line.startsWith('Traceback '))
  for (const each of above.slice(Math.max(0, start)).toReversed()) {
    const [, file = '', number] = pythonFrame.exec(each.line) ?? []
    if (number !== undefined && each.stream === stream && each.lane === lane && !foreign.test(file))
      return `${file}:${number}`
  }
  return undefined
}

function firstFrame({ at, stream, lane }: Line, lines: readonly Line[]): string | undefined {
  for (const each of lines.slice(at, at + reach)) {
    if (each.stream !== stream || each.lane !== lane) continue
    for (const pattern of frames) {
      const [, file, number] = pattern.exec(each.line) ?? []
      if (file !== undefined && !foreign.test(each.line))
        return `${file.replace('file://', '')}:${number}`
    }
  }
  return undefined
}
