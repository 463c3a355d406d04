/** Judgments in a thread of their own, so that other requests of the back ends do not wait for them. */
import { SideThread, SideThreadError } from '@fairlead/base/concurrency/side-thread.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { AnalysisProgress } from '@fairlead/ports/canaries.ts'
import type { JudgeResult, ScoreThresholds } from './judge/judge.ts'
import type { Outlook } from './judge/outlook.ts'
import type { SeriesPair } from './metric-sets.ts'

export interface JudgeJob {
  /** JSON: objects of raw numbers do not reach other threads. */
  readonly config: string
  readonly thresholds: ScoreThresholds
  readonly pairs: readonly SeriesPair[]
  /** Undefined: the analysis has one judgment. */
  readonly progress: AnalysisProgress | undefined
}

export interface Judgment {
  readonly result: JudgeResult
  /** Undefined without a progress. */
  readonly outlook: Outlook | undefined
  /** The pairs as JSON, compressed by zlib. */
  readonly measurements: Uint8Array<ArrayBuffer>
}

export type JudgeReply =
  | { readonly kind: 'judged'; readonly judgment: Judgment }
  | { readonly kind: 'failed'; readonly message: string }

const thread = new SideThread<JudgeJob, JudgeReply>({
  name: 'canary-judge',
  file: new URL(
    import.meta.url.endsWith('.ts') ? './judge-worker.ts' : './judge-worker.js',
    import.meta.url,
  ),
  maxOldGenerationSizeMb: 512,
  maxJobMs: 120_000,
  maxWaiting: 1000,
})

/** @throws {PortError} when the measurements cannot be judged */
export async function judgeAside(job: JudgeJob): Promise<Judgment> {
  try {
    const reply = await thread.run(job)
    if (reply.kind === 'judged') return reply.judgment
    throw new PortError(400, `The measurements cannot be judged: ${reply.message}`)
  } catch (error) {
    if (!(error instanceof SideThreadError)) throw error
    throw new PortError(
      503,
      `The measurements cannot be judged: ${error.message}. Compare fewer metrics, or with a larger step.`,
    )
  }
}
