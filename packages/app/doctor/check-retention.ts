/** Shows what the data directory keeps, and what an operator whose data is from before has not decided yet. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Check, createCheck, type Finding } from '@fairlead/base/findings/finding.ts'
import { measureKinds, pragma } from '@fairlead/engine/retention/sizes.ts'
import { isRetentionOn } from '@fairlead/engine/retention/sweeper.ts'
import type { Config } from '../config/config.ts'
import { isNewData } from '../hosting/data-age.ts'

export function checkRetention({
  backends: { dataDir, retention },
}: Pick<Config, 'backends'>): Check[] {
  const file = join(dataDir, 'backends.db')
  if (!existsSync(file)) return []
  return [
    createCheck('Retention', async (report): Promise<Finding[]> => {
      const db = new DatabaseSync(file, { readOnly: true })
      try {
        const sizes = await measureKinds(db, dataDir, async () => {})
        const shown = Object.entries(sizes).map(([kind, bytes]) => `${kind} ${toMegabytes(bytes)}`)
        const found = [report.ok('measure what is kept', shown.join(', '))]
        const tried = 'look for what is deleted when it is old'
        if (retention.enabled === undefined && !isNewData(dataDir))
          found.push(
            report.warning(
              tried,
              `nothing: executions and tasks have ${toMegabytes((sizes['executions'] ?? 0) + (sizes['tasks'] ?? 0))} and grow, as in older versions`,
              'set retention.enabled: true to delete those beyond retention.executions, .tasks and .images; false keeps all of them',
            ),
          )
        if (isRetentionOn(retention, isNewData(dataDir)) && pragma(db, 'auto_vacuum') !== 2)
          found.push(
            report.warning(
              tried,
              `${toMegabytes(sizes['free'] ?? 0)} of ${file} are free and reused; an older version has created the file, so it does not shrink`,
              `to shrink it once, stop Fairlead and run: sqlite3 '${file}' 'PRAGMA auto_vacuum = 2; VACUUM'; this needs the size of the file once more`,
            ),
          )
        return found
      } finally {
        db.close()
      }
    }),
  ]
}

function toMegabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
