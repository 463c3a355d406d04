/** Where the things lead that messages of a stage name. */
import { to } from '../address.ts'
import type { Stage } from '../model/execution.ts'
import { objectOf, textOf, textsOf } from '../model/read.ts'
import { deployedBy, outputOf } from '../model/stage-output.ts'

/** Instances of this machine; those of other providers have no ids that a text could be searched for. */
export function instancesIn(text: string): readonly string[] {
  return text.match(/\bi-[0-9a-z]{26}\b/g) ?? []
}

/** Server groups, jobs and instances by name. */
export function placeLinks(application: string, stages: readonly Stage[], text: string): ReadonlyMap<string, string> {
  const links = new Map<string, string>()
  for (const { context } of stages) {
    const account = textOf(context['account']) ?? textOf(context['credentials'])
    const region = textOf(context['region']) ?? textsOf(context['regions'])[0]
    if (account === undefined || region === undefined) continue
    const names = [objectOf(context['source'])['serverGroupName'], context['serverGroupName'], context['asgName']].map(textOf)
    for (const name of names) if (name !== undefined) links.set(name, to.serverGroup(application, { account, region, name }))
    for (const id of instancesIn(text)) links.set(id, to.instance(application, { account, region, id }))
  }
  for (const group of deployedBy(stages)) links.set(group.name, to.serverGroup(application, group))
  const output = outputOf(stages)
  if (output?.kind === 'program') links.set(output.program.id, to.job(application, output.program))
  return links
}
