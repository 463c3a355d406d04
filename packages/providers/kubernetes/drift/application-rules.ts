/** `ignoreDifferences` of applications, as the definition store has them. */
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { itself } from '@fairlead/ports/caller.ts'
import type { KubernetesParts } from '../parts.ts'
import { type IgnoreRule, rulesIn } from './ignore.ts'

/** None while the definition store does not answer. */
export async function loadApplicationRules(
  { context: { ports } }: KubernetesParts,
  application: string,
): Promise<IgnoreRule[]> {
  const stored = await ports.definitions.applications(itself).catch(() => [])
  const found = stored.find(({ name }) => foldName(String(name)) === foldName(application))
  return rulesIn(found?.['ignoreDifferences'])
}
