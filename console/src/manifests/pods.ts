/** Containers of a pod, and what became of them. */
import { type Json, numberOf, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import type { Status } from '../model/status.ts'
import { type ManifestView, manifestOf, reasonsOf, specOf, timeOf } from './object.ts'
import { manifestWords } from './words.ts'

export interface ContainerView {
  readonly name: string
  readonly isInit: boolean
  readonly image: string | undefined
  readonly status: Status
  /** Why it does not run. */
  readonly reason: string | undefined
  readonly restarts: number
  readonly sinceMs: number | undefined
}

export function containersOf(view: ManifestView): readonly ContainerView[] {
  const [spec, status] = [specOf(view), objectOf(manifestOf(view)['status'])]
  return [
    ...toContainers(objectsOf(spec['initContainers']), objectsOf(status['initContainerStatuses']), true),
    ...toContainers(objectsOf(spec['containers']), objectsOf(status['containerStatuses']), false),
  ]
}

function toContainers(specs: readonly Json[], statuses: readonly Json[], isInit: boolean): readonly ContainerView[] {
  return specs.map((spec) => {
    const name = textOf(spec['name']) ?? ''
    const status = statuses.find((one) => one['name'] === name) ?? {}
    return {
      name,
      isInit,
      image: textOf(spec['image']),
      restarts: numberOf(status['restartCount']) ?? 0,
      ...stateOf(objectOf(status['state']), objectOf(objectOf(status['lastState'])['terminated']), status['ready'] === true),
    }
  })
}

function stateOf(state: Json, last: Json, isReady: boolean): Pick<ContainerView, 'status' | 'reason' | 'sinceMs'> {
  const [running, waiting, ended] = [objectOf(state['running']), objectOf(state['waiting']), objectOf(state['terminated'])]
  if (state['terminated'] !== undefined) {
    const code = numberOf(ended['exitCode']) ?? 0
    return {
      status:
        code === 0
          ? { kind: 'succeeded', word: manifestWords.containerStates.done }
          : { kind: 'failed', word: manifestWords.containerStates.failed },
      reason: code === 0 ? undefined : (textOf(ended['message']) ?? manifestWords.exited(code, textOf(ended['reason']))),
      sinceMs: timeOf(ended['finishedAt']),
    }
  }
  const before =
    last['exitCode'] === undefined ? undefined : manifestWords.lastExit(numberOf(last['exitCode']) ?? 0, textOf(last['reason']))
  if (state['waiting'] !== undefined) {
    const texts = [textOf(waiting['reason']), textOf(waiting['message'])].filter((text) => text !== undefined)
    const isFailing = /BackOff|Err|Invalid|CannotRun/.test(texts[0] ?? '')
    return {
      status: { kind: isFailing ? 'failed' : 'queued', word: manifestWords.containerStates.waiting },
      reason: [texts.join(': '), before].filter(Boolean).join(' ') || undefined,
      sinceMs: undefined,
    }
  }
  if (state['running'] === undefined)
    return { status: { kind: 'queued', word: manifestWords.containerStates.unknown }, reason: undefined, sinceMs: undefined }
  return {
    status: { kind: isReady ? 'succeeded' : 'running', word: manifestWords.containerStates.running },
    reason: before,
    sinceMs: timeOf(running['startedAt']),
  }
}

/** Of a pod: those of the API, else those of its containers, else those of its status. */
export function podReasonsOf(view: ManifestView): readonly string[] {
  if (textsOf(view['reasons']).length > 0) return reasonsOf(view)
  const failing = containersOf(view).filter(({ status }) => status.kind !== 'succeeded')
  const found = failing.flatMap(({ name, reason }) => (reason === undefined ? [] : [`Container ${name}: ${reason}`]))
  return found.length > 0 ? found : reasonsOf(view)
}
