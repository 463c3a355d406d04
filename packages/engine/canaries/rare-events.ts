/** Metrics of rare events, which kayenta's rank test does not see rise. @see docs/contracts/canaries.md#rare-events */

import type { DocumentFinding } from '@fairlead/base/findings/document-finding.ts'
import type { JudgedMetric } from './judge/judge.ts'
import { canaryOf } from './judge/metric-verdict.ts'

/** Metrics of a configuration that count missing values as 0, and rise unseen where most of them are. */
export function findRareEvents({
  metrics,
}: {
  readonly metrics?: readonly JudgedMetric[] | null
}): DocumentFinding[] {
  return (metrics ?? []).flatMap(({ name, analysisConfigurations }, index) => {
    const { rareEvents, critical, muted, gaps } = canaryOf(analysisConfigurations)
    if ((rareEvents ?? critical) || muted || gaps !== 'replace') return []
    // Who writes false for a metric that decides nothing knows why.
    if (rareEvents !== undefined && !critical) return []
    const place = `metrics[${index}].analysisConfigurations.canary`
    return [
      {
        severity: 'warning',
        place,
        message: `The metric "${name}" counts missing values as 0: where most values are 0, as with rare errors, the rank test passes it however many there are. Set "rareEvents": true to compare how often there are events.`,
      },
    ]
  })
}
