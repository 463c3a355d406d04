/** Thread of the judge: judges pairs of measurements, and writes them for the store. */
import { deflateSync } from 'node:zlib'
import { serveJobs } from '@fairlead/base/concurrency/side-thread.ts'
import { type JudgedConfig, judgeCanary, type MetricSetPair } from './judge/judge.ts'
import { outlookOf } from './judge/outlook.ts'
import type { JudgeJob, JudgeReply, Judgment } from './judge-thread.ts'

serveJobs((job: JudgeJob): { reply: JudgeReply; transfer: ArrayBuffer[] } => {
  try {
    const judgment = judge(job)
    return { reply: { kind: 'judged', judgment }, transfer: [judgment.measurements.buffer] }
  } catch (error) {
    return { reply: { kind: 'failed', message: (error as Error).message }, transfer: [] }
  }
})

function judge({ config, thresholds, pairs, progress }: JudgeJob): Judgment {
  const judged = JSON.parse(config) as JudgedConfig
  const written = pairs.map((pair): MetricSetPair => {
    const { control, experiment } = pair.values
    return {
      ...pair,
      values: {
        control: Array.from(control, toJsonNumber),
        experiment: Array.from(experiment, toJsonNumber),
      },
    }
  })
  return {
    result: judgeCanary(judged, thresholds, written),
    outlook: progress && outlookOf(judged, thresholds, written, progress),
    // Copied out of the pool of Node, which cannot be handed over.
    measurements: new Uint8Array(deflateSync(JSON.stringify(written), { level: 1 })),
  }
}

/** Same form as kayenta writes: NaN has no number in JSON. */
function toJsonNumber(value: number): number | 'NaN' {
  return Number.isFinite(value) ? value : 'NaN'
}
