/** Behaviours of simulated containers, chosen by their image, annotations or the test. */
import { fieldAt, objectsOf } from '../../packages/base/json/values.ts'
import type { KubernetesObject } from './kubernetes-client.ts'

export type Behaviour =
  /** Running and ready, after some time if that is given. */
  | { readonly kind: 'run'; readonly afterMs?: number }
  /** Running, never ready. */
  | { readonly kind: 'unready' }
  /** Waits with ImagePullBackOff; its pod stays Pending. */
  | { readonly kind: 'no-image' }
  /** Waits with CrashLoopBackOff after having ended a few times. */
  | { readonly kind: 'crash'; readonly exitCode: number }
  /** Runs for a moment, then ends; where the pod restarts it, it crashes from then on. */
  | { readonly kind: 'exit'; readonly exitCode: number; readonly afterMs?: number }
  /** Its pod is bound to no node. */
  | { readonly kind: 'unschedulable' }

export interface BehaviourRule {
  readonly applies: (pod: KubernetesObject) => boolean
  readonly behaviour: Behaviour
}

/** By the last part of an image without its tag, such as `bad` of `registry.example/team/bad:1`. */
const behavioursByImage: Readonly<Record<string, Behaviour>> = {
  bad: { kind: 'no-image' },
  crash: { kind: 'crash', exitCode: 3 },
  unready: { kind: 'unready' },
  unschedulable: { kind: 'unschedulable' },
  'run-forever': { kind: 'run' },
}

/** The last rule that applies, else annotations, else the image, else what usually becomes of such a pod. */
export function behaviourOf(
  pod: KubernetesObject,
  image: string,
  rules: readonly BehaviourRule[],
): Behaviour {
  const rule = rules.findLast(({ applies }) => applies(pod))
  return rule?.behaviour ?? byAnnotations(pod) ?? byImage(pod, image) ?? usual(pod)
}

export function isUnschedulable(pod: KubernetesObject, rules: readonly BehaviourRule[]): boolean {
  const images = objectsOf(fieldAt(pod, 'spec', 'containers')).map(({ image }) => String(image))
  return images.some((image) => behaviourOf(pod, image, rules).kind === 'unschedulable')
}

function byAnnotations({
  metadata: { annotations = {} },
}: KubernetesObject): Behaviour | undefined {
  const exitCode = annotations['test.fairlead/exit-code']
  if (exitCode !== undefined) return { kind: 'exit', exitCode: Number(exitCode) }
  return annotations['test.fairlead/never-ready'] === undefined ? undefined : { kind: 'unready' }
}

function byImage(pod: KubernetesObject, image: string): Behaviour | undefined {
  const [, name = '', tag = ''] = /([^/:@]+)(?::([^@/]+))?(?:@.*)?$/.exec(image) ?? []
  if (name === 'exit') return { kind: 'exit', exitCode: Number(tag) }
  if (name === 'slow') return { ...usual(pod), afterMs: Number(tag) }
  return Object.hasOwn(behavioursByImage, name) ? behavioursByImage[name] : undefined
}

function usual({
  metadata: { ownerReferences = [] },
}: KubernetesObject): { kind: 'run' } | { kind: 'exit'; exitCode: number } {
  return ownerReferences.some(({ kind }) => kind === 'Job')
    ? { kind: 'exit', exitCode: 0 }
    : { kind: 'run' }
}
