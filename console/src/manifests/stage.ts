/** Objects that a stage names in its context and outputs. */
import type { Stage } from '../model/execution.ts'
import { objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import { toFullName } from './names.ts'
import type { ObjectPlace } from './object.ts'
import { type PlannedObject, toPlan } from './plan.ts'

export type ObjectOfStage = ObjectPlace

/** By namespace as the stage lists them, else those that it deployed, else the one that it acts on. */
export function objectsOfStage({ context, outputs }: Stage): readonly ObjectOfStage[] {
  const account = textOf(context['account']) ?? textOf(context['credentials']) ?? ''
  const value = (key: string) => outputs[key] ?? context[key]
  const byNamespace = { ...objectOf(value('outputs.manifestNamesByNamespace')), ...objectOf(value('deploy.jobs')) }
  const listed = Object.entries(byNamespace).flatMap(([namespace, names]) =>
    textsOf(names).map((name) => ({ account, location: namespace === '_' ? '' : namespace, name })),
  )
  const deployed = objectsOf(value('outputs.manifests')).flatMap(({ kind, metadata }) => {
    const { name, namespace } = objectOf(metadata)
    return textOf(kind) && textOf(name)
      ? [{ account, location: textOf(namespace) ?? '', name: toFullName(lowerFirst(String(kind)), String(name)) }]
      : []
  })
  const named = textOf(context['manifestName']) ?? textOf(context['manifest.name'])
  const own = named === undefined ? [] : [{ account, location: textOf(context['location']) ?? '', name: named }]
  const found = listed.length > 0 ? listed : deployed.length > 0 ? deployed : own
  return [...new Map(found.map((object) => [`${object.location}\n${object.name.toLowerCase()}`, object])).values()]
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

export function planOfStage({ context, outputs }: Stage): readonly PlannedObject[] {
  const plans = ['plan', 'outputs.plan'].flatMap((key) => [outputs[key], context[key]])
  return toPlan(plans.find((plan) => Array.isArray(plan) && plan.length > 0))
}

export function jobPodsOfStage({ context }: Stage): readonly ObjectPlace[] {
  const status = objectOf(context['jobStatus'])
  const account = textOf(status['account']) ?? textOf(context['account']) ?? textOf(context['credentials']) ?? ''
  return objectsOf(status['pods']).flatMap(({ name }) => {
    const pod = textOf(name)
    return pod === undefined ? [] : [{ account, location: textOf(status['location']) ?? '', name: toFullName('pod', pod) }]
  })
}
