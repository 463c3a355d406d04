/** The tool that a line is of, by what it says and what stands around it. */
import type { Line } from './clean-line.ts'
import { anyTool } from './rules.ts'

/** By the text of an exception. */
const byText: readonly (readonly [tool: string, pattern: RegExp])[] = [
  ['django', /\bdjango\./],
  ['alembic', /\bsqlalchemy\.|\balembic\./],
  ['spring', /springframework|BeanCreation/],
]
/** Tools that print exceptions of the program they run. */
const hosts = ['gunicorn', 'pip', 'uvicorn', 'spring']

interface Surroundings {
  readonly lines: readonly Line[]
  /** Tools whose lines were seen. */
  readonly tools: ReadonlySet<string>
  readonly given: string | undefined
}

export function refineTool(
  { tool, text, line }: { readonly tool: string; readonly text: string; readonly line: Line },
  { lines, tools, given }: Surroundings,
): string {
  const [above, below] = [
    lines.slice(Math.max(0, line.at - 10), line.at),
    lines.slice(line.at + 1, line.at + 10),
  ]
  if (tool === 'exception') {
    const found =
      byText.find(([, pattern]) => pattern.test(text))?.[0] ?? hosts.find((host) => tools.has(host))
    return found ?? languageOf(text, { above, below })
  }
  if (tool === 'pytest' || tool !== anyTool) return tool
  if (
    /^Error: [^:]+: [^:]+: /.test(text) &&
    below.some((each) => /^exit status \d/.test(each.line))
  )
    return 'go'
  return given ?? anyTool
}

function languageOf(
  text: string,
  { above, below }: { above: readonly Line[]; below: readonly Line[] },
): string {
  const isAbove = (pattern: RegExp) => above.some((each) => pattern.test(each.line))
  const isBelow = (pattern: RegExp) => below.some((each) => pattern.test(each.line))
  if (
    isBelow(/^\s+at \S+\([\w$]+\.(?:java|kt|scala)|^\s+at java/) ||
    isAbove(/^Exception in thread|^\s+at \S+\(\w+\.java/)
  )
    return 'jvm'
  if (isBelow(/^\s+at /) || /^\[cause\]|^Uncaught /.test(text) || isBelow(/^\s+(?:code|errno): /))
    return 'node'
  if (isAbove(/^Traceback |^\s+File "/) || isBelow(/^Traceback |^The above|^During handling/))
    return 'python'
  if (/^(?:Caused by: |Exception in )|^(?:[a-z]\w*\.){2,}[A-Z]/.test(text)) return 'jvm'
  return isAbove(/^During handling|^The above exception/) ? 'python' : 'node'
}
