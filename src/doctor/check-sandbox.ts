/** By which means programs are kept apart that read what authors wrote. */
import type { Config } from '../config/config.ts'
import { type Check, createCheck } from '../findings/finding.ts'
import { openSandbox } from '../sandbox/sandbox.ts'

const tried = 'run a program in it'

export function checkSandbox({ backends }: Pick<Config, 'backends'>): Check[] {
  if (backends.bakery === undefined && backends.infrastructure === undefined) return []
  const { sandbox: choice } = backends.outside
  const check = createCheck('Sandbox', async (report) => {
    try {
      const { means, title } = await openSandbox(choice)
      if (means !== 'none') return [report.ok(tried, `works: ${title}`)]
      const found = 'Helm, Kustomize and Git have all rights of the user of Fairlead, and its network (sandbox: none)'
      return [report.warning(tried, found, 'install bubblewrap, and remove the setting')]
    } catch (error) {
      const advice = 'install bubblewrap ("apt install bubblewrap"); until then manifests are not baked, and Git is not called'
      return [report.warning(tried, (error as Error).message, advice)]
    }
  })
  return [check]
}
