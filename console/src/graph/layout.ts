/** Asks the worker for layouts; the same shape is laid out once. */
import { basePath } from '../address.ts'
import type { LayoutAnswer, LayoutRequest } from './layout-worker.ts'

export type Layout = Omit<LayoutAnswer, 'id'>
type Shape = Omit<LayoutRequest, 'id'>

const maxKept = 20

const known = new Map<string, Promise<Layout | undefined>>()
const waiting = new Map<number, (layout: Layout | undefined) => void>()
let worker: Worker | undefined
let nextId = 1

/** Undefined where the worker fails: the list shows the same. */
export function layoutGraph(shape: Shape): Promise<Layout | undefined> {
  const key = JSON.stringify(shape)
  const found = known.get(key)
  if (found !== undefined) return found
  const layout = new Promise<Layout | undefined>((resolve) => {
    const id = nextId++
    waiting.set(id, resolve)
    worker ??= startWorker()
    worker.postMessage({ id, ...shape } satisfies LayoutRequest)
  })
  known.set(key, layout)
  for (const old of [...known.keys()].slice(0, -maxKept)) known.delete(old)
  return layout
}

function startWorker(): Worker {
  const started = new Worker(trusted(basePath + LAYOUT_WORKER))
  started.onmessage = ({ data: { id, ...layout } }: MessageEvent<LayoutAnswer>) => {
    waiting.get(id)?.(layout)
    waiting.delete(id)
  }
  started.onerror = () => {
    for (const answer of waiting.values()) answer(undefined)
    waiting.clear()
  }
  return started
}

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string }
}

/** The one address that may become a script, where the browser knows Trusted Types. */
function trusted(url: string): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  const checked = (given: string) => {
    if (given !== basePath + LAYOUT_WORKER) throw new TypeError('no other script is started')
    return given
  }
  return trustedTypes?.createPolicy('fairlead', { createScriptURL: checked }).createScriptURL(url) ?? url
}
