/** Says how many of the stored definitions have errors, by the findings of saves and moves. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { formatFinding } from '@fairlead/base/findings/document-finding.ts'
import { type Check, createCheck } from '@fairlead/base/findings/finding.ts'
import { parseJson } from '@fairlead/base/json/json.ts'
import { objectOf } from '@fairlead/base/json/values.ts'
import { createNames, findingsOfStored } from '@fairlead/engine/orchestration/findings/findings.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { pino } from 'pino'
import type { Config } from '../config/config.ts'
import { type OpenDefinitions, openCopy } from '../moves/open-definitions.ts'

const longestMs = 4000
const mostNamed = 3
const kinds = [
  ['pipelines', 'pipeline'],
  ['strategies', 'strategy'],
  ['templates', 'template'],
  ['applications', 'application'],
] as const

export function checkDefinitions(config: Config): Check[] {
  const { backends, upstreams } = config
  const isEmbedded = upstreams.services.front50.kind === 'embedded'
  if (!isEmbedded || !existsSync(join(backends.dataDir, 'backends.db'))) return []
  return [
    createCheck('Definitions', async (report) => {
      const opened = openCopy(config, pino({ level: 'silent' }), { withHistory: false })
      try {
        const { looked, isPart, errors } = await findErrors(opened)
        const tried = `look for errors in ${isPart ? 'the first ' : ''}${looked} definitions`
        if (errors.length === 0) return [report.ok(tried, 'none')]
        const found = `${errors.length} have errors: ${errors.slice(0, mostNamed).join(' ')}`
        const advice =
          'correct or disable them; GET /applications/{application}/findings lists those of an application'
        return [report.warning(tried, found, advice)]
      } finally {
        opened.close()
      }
    }),
  ]
}

/** @returns an error of each that has some */
async function findErrors({ definitions }: OpenDefinitions) {
  const names = createNames(definitions.findingSources)
  const endMs = performance.now() + longestMs
  const errors: string[] = []
  let looked = 0
  for (const [collection, kind] of kinds)
    for (const texts of definitions[collection].portions())
      for (const text of texts) {
        if (performance.now() > endMs) return { looked, isPart: true, errors }
        // A gateway that is asked for an examination answers others meanwhile.
        await setImmediate()
        looked++
        const document = objectOf(parseJson(text))
        const found = await findingsOfStored(kind, document, definitions.findingSources, { names })
        const error = found.find(({ severity }) => severity === 'error')
        const { name = document['id'], application, isDisabled } = readPipeline(document)
        if (error === undefined || isDisabled) continue
        const where = application === undefined ? '' : ` of ${application}`
        errors.push(`The ${kind} "${String(name)}"${where}: ${formatFinding(error)}`)
      }
  return { looked, isPart: false, errors }
}
