/** Path templates of the API, `/applications/{application}/jobs/**`, as routes, patterns and addresses. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { decodeSegment, encodeSegment, encodeSegments } from '@fairlead/base/net/encode-path.ts'

interface PathVariable {
  readonly name: string
  readonly hasSlashes: boolean
}

/** `{name}` is one segment. `{+name}`, `{rest}` and a final `/**`, which is called `rest`, keep their slashes. */
export class PathTemplate {
  readonly names: readonly string[]
  /** For the web framework: `/applications/:application/jobs/*`. */
  readonly route: string
  /** For OpenAPI: `/applications/{application}/jobs/{rest}`. */
  readonly address: string
  /** The same without names: `/applications/{}/jobs/{}`. */
  readonly shape: string
  /** Equal for templates that match the same paths. */
  readonly pattern: RegExp
  readonly #pieces: readonly (string | PathVariable)[]

  constructor(text: string) {
    const pieces = toPieces(text)
    const write = (
      variable: (variable: PathVariable) => string,
      literal = (piece: string) => piece,
    ) =>
      pieces.map((piece) => (typeof piece === 'string' ? literal(piece) : variable(piece))).join('')
    this.#pieces = pieces
    this.names = pieces.flatMap((piece) => (typeof piece === 'string' ? [] : piece.name))
    this.route = write(({ name, hasSlashes }) => (hasSlashes ? '*' : `:${name}`))
    this.address = write(({ name }) => `{${name}}`)
    this.shape = write(() => '{}')
    this.pattern = new RegExp(
      `^${write(({ hasSlashes }) => (hasSlashes ? '(.*)' : '([^/]+)'), RegExp.escape)}$`,
    )
  }

  match(path: string): Record<string, string> | undefined {
    const values = this.pattern.exec(path)
    return values === null
      ? undefined
      : Object.fromEntries(
          this.names.map((name, index) => [name, decodeSegment(values[index + 1] ?? '')]),
        )
  }

  /** The path with encoded values. @throws {GatewayError} BAD_ARGUMENT when a value is missing */
  fill(valueFor: (name: string) => string | undefined): string {
    let path = ''
    for (const piece of this.#pieces)
      path += typeof piece === 'string' ? piece : encode(piece, valueFor(piece.name))
    return path
  }
}

function toPieces(text: string): (string | PathVariable)[] {
  const pieces: (string | PathVariable)[] = []
  let end = 0
  for (const { 0: whole, 1: plus, 2: name = 'rest', index } of text.matchAll(
    /\{(\+?)(\w+)\}|(?<=\/)\*\*$/g,
  )) {
    pieces.push(text.slice(end, index), { name, hasSlashes: plus === '+' || name === 'rest' })
    end = index + whole.length
  }
  return [...pieces, text.slice(end)]
}

function encode({ name, hasSlashes }: PathVariable, value: string | undefined): string {
  if (value === undefined || value === '')
    throw new GatewayError('BAD_ARGUMENT', `${name} must not be empty.`)
  return hasSlashes ? encodeSegments(value) : encodeSegment(value)
}

export function createMethodIndex(
  routes: readonly { method: string; path: string | PathTemplate }[],
): (path: string) => string[] {
  const offers = new Map<string, { pattern: RegExp; methods: Set<string> }>()
  for (const { method, path } of routes) {
    const { pattern } = typeof path === 'string' ? new PathTemplate(path) : path
    const { methods } = offers.getOrInsertComputed(pattern.source, () => ({
      pattern,
      methods: new Set(['OPTIONS']),
    }))
    methods.add(method)
    if (method === 'GET') methods.add('HEAD')
  }
  const all = [...offers.values()]
  return (path) =>
    [
      ...new Set(
        all.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => [...methods]),
      ),
    ].sort()
}
