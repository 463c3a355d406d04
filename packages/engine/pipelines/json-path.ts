/** Subset of JSON path for payload constraints: `$.a['b'][0].c`, `[*]`, `.*` and `..name`, without filters. */
import { fieldOf, objectOf } from '@fairlead/base/json/values.ts'

type Step =
  | { kind: 'name'; name: string }
  | { kind: 'index'; index: number }
  | { kind: 'every' }
  | { kind: 'anywhere'; name: string }

const stepPattern = /\.\.([\w-]+)|\.\*|\[\*\]|\.([\w-]+)|\[(-?\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/y

/** More values than this are not looked at. */
const maxValues = 10_000

/**
 * The value at a path. Paths that may lead to several values give a list of them.
 *
 * @param spend Told how many values were looked at; may throw to end it.
 * @returns undefined when the path leads nowhere, or is none.
 */
export function valueAt(document: unknown, path: string, spend: (steps: number) => void): unknown {
  const steps = parsePath(path)
  if (steps === undefined) return undefined
  const values = steps.reduce<unknown[]>(
    (found, step) => found.flatMap((value) => follow(value, step, spend)).slice(0, maxValues),
    [document],
  )
  const several = steps.some(({ kind }) => kind === 'every' || kind === 'anywhere')
  return several ? (values.length === 0 ? undefined : values) : values[0]
}

function parsePath(path: string): Step[] | undefined {
  const rest = path.startsWith('$') ? path.slice(1) : `.${path}`
  const steps: Step[] = []
  stepPattern.lastIndex = 0
  while (stepPattern.lastIndex < rest.length) {
    const parts = stepPattern.exec(rest)
    if (parts === null) return undefined
    const [, anywhere, dotted, index, single, double] = parts
    const name = dotted ?? single ?? double
    if (anywhere !== undefined) steps.push({ kind: 'anywhere', name: anywhere })
    else if (index !== undefined) steps.push({ kind: 'index', index: Number(index) })
    else steps.push(name === undefined ? { kind: 'every' } : { kind: 'name', name })
  }
  return steps
}

function follow(value: unknown, step: Step, spend: (steps: number) => void): unknown[] {
  spend(1)
  if (step.kind === 'index') return present(Array.isArray(value) ? value.at(step.index) : undefined)
  if (step.kind === 'every') return countedChildrenOf(value, spend)
  if (step.kind === 'name') return present(fieldOf(value, step.name))
  const found: unknown[] = []
  const waiting = [value]
  for (
    let next = waiting.pop();
    waiting.length < maxValues && next !== undefined;
    next = waiting.pop()
  ) {
    found.push(...present(fieldOf(next, step.name)))
    const nested = countedChildrenOf(next, spend).filter(
      (child) => typeof child === 'object' && child !== null,
    )
    for (const child of nested.reverse()) waiting.push(child)
  }
  return found
}

function countedChildrenOf(value: unknown, spend: (steps: number) => void): unknown[] {
  const children = Array.isArray(value) ? value : Object.values(objectOf(value))
  spend(children.length)
  return children
}

function present(value: unknown): unknown[] {
  return value === undefined ? [] : [value]
}
