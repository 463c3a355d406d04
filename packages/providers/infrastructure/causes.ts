/** Why an instance or a job has failed: the cause in its output, read where that is kept. docs/contracts/causes.md. */
import { type Cause, type Ending, reasonEnding } from '@fairlead/base/causes/cause.ts'
import { CauseReader } from '@fairlead/base/causes/reader.ts'
import { scalarOf } from '@fairlead/base/json/values.ts'
import type { InstancePlace } from '@fairlead/ports/infrastructure.ts'
import type { Instance, Job } from './model.ts'
import type { CloudProvider } from './provider.ts'

/** How a job has ended, as its provider says. */
function endingOfJob({ completionDetails: details }: Job): Ending {
  const reason = scalarOf(details['reason']) ?? ''
  const exitCode = scalarOf(details['exitCode']) || undefined
  return {
    exitCode: exitCode === undefined ? undefined : Number(exitCode),
    signal: scalarOf(details['signal']),
    ...reasonEnding(reason),
  }
}

export function endingOfInstance({ health }: Instance): Ending {
  const text = health.flatMap(({ description }) => scalarOf(description) ?? []).join(' ')
  const [, exitCode] = /\bexit code (\d+)/.exec(text) ?? []
  const [signal] = /\bSIG[A-Z]+\b/.exec(text) ?? []
  return {
    exitCode: exitCode === undefined ? undefined : Number(exitCode),
    signal,
    ...reasonEnding(text),
  }
}

/** Why a job failed; from the latest of its pods, where it has some. @throws as the provider does */
export function findJobCause(provider: CloudProvider, job: Job): Promise<Cause | undefined> {
  const pod = scalarOf(job.details['mostRecentPodName'])
  const id = pod === undefined ? job.id : `pod ${pod}`
  return findCause(provider, { account: job.account, region: job.location, id }, endingOfJob(job))
}

/** @throws as the provider does */
export async function findCause(
  provider: CloudProvider,
  { account, region, id }: InstancePlace,
  ending: Ending,
): Promise<Cause | undefined> {
  const reader = new CauseReader()
  for (let offset = 0, isMore = true; isMore; ) {
    const part = await provider.console(account, region, id, { offset }, {})
    if (part === undefined) break
    if (typeof part.output !== 'string') {
      // A container that was started again has written why before.
      const before = await provider.console(account, region, id, undefined, { previous: true })
      return causeOfContainers([part.output, before?.output ?? []], ending)
    }
    reader.feed(part.output)
    const { nextOffset = 0, endOffset = 0 } = part
    isMore = nextOffset > offset && nextOffset < endOffset
    offset = nextOffset
  }
  return reader.end(ending)
}

type Outputs = string | readonly { readonly output: string }[]

function causeOfContainers(runs: readonly Outputs[], ending: Ending): Cause | undefined {
  const outputs = runs.flatMap((run) =>
    typeof run === 'string' ? [run] : run.map(({ output }) => output),
  )
  let words: Cause | undefined
  for (const output of outputs) {
    const reader = new CauseReader({ tool: 'pod' })
    reader.feed(output)
    const cause = reader.end(ending)
    if (cause !== undefined && cause.stream !== 'system') return cause
    words ??= cause
  }
  return words
}
