/**
 * Has V8 compile the functions of a start together with their file. The compile cache keeps only what was compiled by then, and V8 compiles
 * all other functions at their first call, anew in each process and thread: a seventh of the processor time of a start.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type AnyNode, type Program, parse } from 'acorn'

/** Starts and lengths of the functions that ran, as `start-end`, by file. */
type Calls = Map<string, Set<string>>

/** Rewrites the files of a bundle for the functions that `fairlead serve` calls until its back ends answer. */
export async function compileEagerly(dist: string): Promise<void> {
  for (const [file, called] of await recordCalls(dist)) {
    const text = readFileSync(file, 'utf8')
    writeFileSync(
      file,
      markEager(text, ({ start, end }) => called.has(`${start}-${end}`)),
    )
  }
}

/** Serves once with every back end embedded, and ends when they answer. */
export async function serveOnce(dist: string, more: NodeJS.ProcessEnv = {}): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'fairlead-serve-once-'))
  const env = {
    ...process.env,
    ...more,
    HOME: home,
    SERVER_PORT: '0',
    SERVER_DRAINMS: '0',
    FAIRLEAD_DATA_DIR: join(home, 'data'),
  }
  const child = spawn(process.execPath, [join(dist, 'fairlead.js'), 'serve'], {
    cwd: home,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close')
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += String(chunk)
  })
  for await (const chunk of child.stdout) {
    output += String(chunk)
    const [, port] = /listening on https?:\/\/[^\s,"]+:(\d+)/.exec(output) ?? []
    if (port === undefined || child.killed || !output.includes('back ends are ready')) continue
    for (const path of ['health', 'applications'])
      await fetch(`http://127.0.0.1:${port}/${path}`).then((answer) => answer.arrayBuffer())
    child.kill('SIGTERM')
  }
  const [status] = await ended
  rmSync(home, { recursive: true, force: true })
  if (status !== 0) throw new Error(`fairlead serve ended with ${status}:\n${output}`)
}

async function recordCalls(dist: string): Promise<Calls> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-calls-'))
  await serveOnce(dist, { NODE_V8_COVERAGE: folder })
  const calls: Calls = new Map()
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as {
      result: { url: string; functions: { ranges: V8Range[] }[] }[]
    }
    for (const { url, functions } of result) {
      if (!url.startsWith('file:')) continue
      const file = fileURLToPath(url)
      const called = calls.get(file) ?? new Set()
      calls.set(file, called)
      for (const { ranges } of functions)
        for (const { startOffset, endOffset, count } of ranges.slice(0, 1))
          if (count > 0) called.add(`${startOffset}-${endOffset}`)
    }
  }
  rmSync(folder, { recursive: true })
  return calls
}

interface V8Range {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

/**
 * V8 compiles a function in parentheses at once. Declarations become variables at the top of their function or module, where declarations
 * take effect, too. Methods of classes stay as they are.
 *
 * @param isCalled Whether the function at these offsets is to be compiled at once
 */
export function markEager(text: string, isCalled: (node: AnyNode) => boolean): string {
  const render = (node: AnyNode, isBody = false): string => {
    let result = ''
    let hoisted = ''
    let from = node.start
    /** Where the statements begin, after the brace and directives. */
    let top = node.type === 'Program' ? 0 : 1
    for (const child of childrenOf(node)) {
      // The value of a shorthand property is its key.
      if (child.start < from) continue
      result += text.slice(from, child.start)
      from = child.end
      if (isBody && child.type === 'FunctionDeclaration' && child.id !== null && isCalled(child)) {
        const { async, generator, id } = child
        const head = `${async ? 'async ' : ''}function${generator ? '*' : ''}`
        hoisted += `;var ${id.name}=(${head}${render(child).slice(id.end - child.start)});`
      } else result += renderChild(child, node)
      if (isBody && 'directive' in child) top = result.length
    }
    result += text.slice(from, node.end)
    return result.slice(0, top) + hoisted + result.slice(top)
  }
  const renderChild = (child: AnyNode, parent: AnyNode): string => {
    const isFunction =
      child.type === 'FunctionExpression' || child.type === 'ArrowFunctionExpression'
    if (isFunction && isCalled(child)) return `(${render(child)})`
    // A file of a CommonJS package.
    const isWrapper = child.type === 'Property' && child.method && child.key.type === 'Literal'
    if (isWrapper && isCalled(child))
      return `${text.slice(child.key.start, child.key.end)}:(function${render(child.value)})`
    return render(child, child.type === 'BlockStatement' && 'params' in parent)
  }
  const program: Program = parse(text, { ecmaVersion: 'latest', sourceType: 'module' })
  const [, hashbang = ''] = /^(#!.*\n)?/.exec(text) ?? []
  return hashbang + render({ ...program, start: hashbang.length }, true)
}

/** In the order of the text. */
function childrenOf(node: AnyNode): AnyNode[] {
  const isNode = (value: unknown): value is AnyNode =>
    typeof value === 'object' && value !== null && 'type' in value && 'start' in value
  return Object.values(node)
    .flat()
    .filter(isNode)
    .sort((a, b) => a.start - b.start)
}
