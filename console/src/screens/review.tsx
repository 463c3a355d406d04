/** Reviews: what a promotion or a judgment changes, its evidence, what happens next and if it fails; and the approval. */
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { to, useNavigate } from '../address.ts'
import { ApiError, client, type Schemas } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { usePipelines } from '../api/pipelines.ts'
import { startOperation, useDenial } from '../api/rights.ts'
import { judgesOf } from '../api/waiting.ts'
import { ActionButton, Button } from '../components/button.tsx'
import { Denied } from '../components/denied.tsx'
import { closeDialog, Dialog, openDialog } from '../components/dialog.tsx'
import { useSubmit } from '../components/form-dialog.tsx'
import { FailedAction, Lazy, Loaded } from '../components/screen.tsx'
import { Duration, Name, NameLink, PlainText, StatusMark, Time } from '../components/text.tsx'
import { pipelinesThatDeploy, whyNoImage } from '../model/infrastructure.ts'
import { now } from '../model/time.ts'
import { capital, plural } from '../words.ts'
import { patchStage } from './execution-actions.tsx'
import { startPipeline } from './start-dialog.tsx'

export type Review = Schemas['Review']
export type Condition = Schemas['EnvironmentCondition']
type Commit = Schemas['EnvironmentCommit']

/** A promotion to an environment, or a judgment that an execution waits for. */
interface Subject {
  readonly application: string
  readonly environment?: string
  readonly execution?: string
  readonly stage?: string
}

export function openReview(subject: Subject): void {
  openDialog(<ReviewDialog {...subject} />)
}

function useReview({ application, ...query }: Subject) {
  return useLive('/applications/{application}/review', { path: { application }, query })
}

function ReviewDialog(subject: Subject) {
  const { application, environment } = subject
  const title =
    environment === undefined ? `Review ${application}` : `Promote ${application} to ${environment}`
  return (
    <Dialog title={title}>
      <Loaded live={useReview(subject)} rows={6}>
        {(review) => (
          <>
            <ReviewBody review={review} application={application} />
            {review.judgment ? (
              <Judge application={application} judgment={review.judgment} onDone={closeDialog} />
            ) : (
              <Ways application={application} review={review} />
            )}
          </>
        )}
      </Loaded>
    </Dialog>
  )
}

/** The judgment that a run waits for, on its page. */
export function Judgment({
  application,
  execution,
  stage,
  name,
}: Record<'application' | 'execution' | 'stage' | 'name', string>) {
  const live = useReview({ application, execution, stage })
  return (
    <section class="judgment" aria-label={`Review of ${name}`}>
      <h2 class="row">
        <StatusMark kind="waiting" />
        <Name text={name} max={60} />
        <span class="muted regular">
          waits for <Duration from={live.body?.judgment?.sinceMs} />
        </span>
      </h2>
      <Loaded live={live}>
        {(review) => (
          <>
            <ReviewBody review={review} application={application} />
            {review.judgment && <Judge application={application} judgment={review.judgment} />}
          </>
        )}
      </Loaded>
    </section>
  )
}

function ReviewBody({ review, application }: { review: Review; application: string }) {
  const {
    changes,
    commits,
    authors,
    note,
    conditions,
    manifests,
    settings,
    next,
    onFailure,
    unknown,
  } = review
  const others = [...manifests.map(({ name, change }) => `${name} ${change}`), ...settings]
  return (
    <div class="review">
      <ul class="plain-list review-changes">
        {changes.map(({ environment, image, from, to: version }) => (
          <li key={`${environment} ${image}`}>
            <Name class="muted" text={`${environment}: ${image}`} max={60} />{' '}
            <b>{from ?? 'nothing'}</b>
            {' → '}
            <a href={to.release(application, version)}>
              <b>{version}</b>
            </a>
          </li>
        ))}
        {changes.length === 0 && <li>No image that is known changes.</li>}
      </ul>
      {(commits.length > 0 || note) && (
        <Part
          title={
            commits.length === 0
              ? 'Commits'
              : `${plural(commits.length, 'commit')} by ${authors.join(', ') || 'unknown authors'}`
          }
        >
          <Commits application={application} commits={commits} max={1000} />
          {note && <p class="muted">{note}</p>}
        </Part>
      )}
      {conditions.length > 0 && (
        <Part title="Evidence">
          <Conditions application={application} conditions={conditions} />
        </Part>
      )}
      <Part title="Next">
        {next.length === 0 ? <p>Nothing follows.</p> : <List texts={next} />}
      </Part>
      {others.length > 0 && (
        <Part title="Settings">
          <List texts={others} />
        </Part>
      )}
      <Part title="If it fails">
        <p>{onFailure}</p>
      </Part>
      {unknown.length > 0 && (
        <Part title="Not known">
          <List texts={unknown} />
        </Part>
      )}
    </div>
  )
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h3 class="sub">{title}</h3>
      {children}
    </section>
  )
}

function List({ texts }: { texts: readonly string[] }) {
  return (
    <ul class="plain-list">
      {texts.map((text) => (
        <li key={text}>
          <Name text={capital(text)} max={200} />
        </li>
      ))}
    </ul>
  )
}

export function Commits({
  application,
  commits,
  max = 70,
}: {
  application: string
  commits: readonly Commit[]
  max?: number
}) {
  return (
    <ul class="plain-list commits">
      {commits.map(({ sha, message, author, timestamp }) => (
        <li key={sha}>
          <NameLink
            href={to.release(application, sha)}
            text={message?.split('\n')[0] || sha.slice(0, 8)}
            max={max}
          />
          <span class="muted">
            <Name text={author ?? ''} max={24} /> <code>{sha.slice(0, 7)}</code>{' '}
            {timestamp && <Time at={timestamp} />}
          </span>
        </li>
      ))}
    </ul>
  )
}

const loadCanary = async () => (await import('../components/canary-report.tsx')).CanaryScores

const kinds = { met: 'succeeded', waits: 'waiting', failed: 'failed', ahead: 'queued' } as const

export function Conditions({
  application,
  conditions,
}: {
  application: string
  conditions: readonly Condition[]
}) {
  return (
    <ul class="plain-list conditions">
      {conditions.map(({ type, state, text, untilMs, run, stage, analysis }) => {
        const href = to.evidence(application, { analysis, run, stage })
        return (
          <li key={`${type} ${text}`} class="row">
            <StatusMark kind={kinds[state]} label={state} />
            <div>
              <NameLink href={href} text={capital(text)} max={160} />
              {untilMs && untilMs > now.value && (
                <p class="muted">
                  over in <Duration from={now.value} until={untilMs} />
                </p>
              )}
              {type === 'canary' && run && stage && (
                <Lazy load={loadCanary} props={{ run, stage }} />
              )}
            </div>
          </li>
        )
      })}
    </ul>
  )
}

/** Pipelines that promote start here, others in their dialog, filled with the version. */
function Ways({ application, review }: { application: string; review: Review }) {
  const navigate = useNavigate()
  const stored = usePipelines(application).body ?? []
  const { changes, pipelines, accounts = [], sources = [], holds, mayPromote, runs } = review
  const [change] = changes
  const [run] = runs ?? []
  const promoting = stored.find(({ id }) => pipelines.some((one) => one.promotes && one.id === id))
  const { busy, error, submit } = useSubmit({
    what: `Promote ${application}`,
    isReady: promoting !== undefined,
    run: async () => {
      if (promoting === undefined) return
      const id = await startPipeline(promoting, {}, false, [])
      closeDialog()
      navigate(to.execution(id))
    },
  })
  if (run !== undefined)
    return (
      <p class="row">
        <a
          class="button is-primary"
          href={to.execution(run.id)}
        >{`Open ${run.pipeline}, which is under way`}</a>
      </p>
    )
  if (change === undefined) return null
  const denied = mayPromote === false ? holds[0] : undefined
  const isIn = (places: readonly string[]) => (account: string) => places.includes(account)
  const ways = pipelinesThatDeploy(
    `${change.image}:${change.to}`,
    stored,
    isIn(accounts),
    isIn(sources),
  )
  const there = stored.find(({ id }) => pipelines.some((one) => one.id === id))
  const filled = promoting?.parameterConfig?.length
    ? [{ id: promoting.id ?? '', name: promoting.name, fills: {} }]
    : ways
  return (
    <form onSubmit={submit}>
      {error !== undefined && <FailedAction error={error} />}
      <p class="row">
        {promoting !== undefined && !promoting.parameterConfig?.length ? (
          <Button kind="primary" type="submit" denied={denied} aria-busy={busy}>
            {`Promote ${change.to}`}
          </Button>
        ) : (
          filled.map(({ id, name, fills }) => (
            <ActionButton
              key={id}
              kind="primary"
              action={{
                label: `Start ${name}`,
                denied,
                href: to.startPipeline(application, id, fills),
              }}
            />
          ))
        )}
        {promoting === undefined && ways.length === 0 && (
          <a
            href={
              there?.id === undefined
                ? to.newPipeline(application)
                : to.pipeline(application, there.id)
            }
          >
            {there === undefined
              ? 'No pipeline takes it there: create one'
              : `${there.name} deploys there, but ${whyNoImage(there)}`}
          </a>
        )}
        {denied !== undefined && <Denied reason={denied} />}
      </p>
    </form>
  )
}

const stay = (event: Event) => event.preventDefault()

interface JudgeProps {
  readonly application: string
  readonly judgment: NonNullable<Review['judgment']>
  readonly onDone?: () => void
}

/** The answer, with a comment that is kept with the run. */
function Judge({ application, judgment, onDone }: JudgeProps) {
  const { name, instructions, inputs, roles } = judgment
  const right = useDenial(startOperation, application)
  const judges = judgesOf(roles)
  const reason = right ?? (judges && `Only ${judges.join(' or ')} may judge this.`)
  const [input, setInput] = useState(inputs.length === 1 ? inputs[0] : undefined)
  const [comment, setComment] = useState('')
  const answer = useRef<'continue' | 'stop'>('continue')
  const denied =
    reason ?? (inputs.length > 0 && input === undefined ? 'Choose an answer first.' : undefined)
  const { busy, error, submit } = useSubmit({
    what: `Judge “${name}”`,
    isReady: reason === undefined,
    run: async () => {
      await judge(judgment, {
        judgmentStatus: answer.current,
        judgmentInput: input,
        judgmentComment: comment.trim() || undefined,
      })
      refreshMatching(application)
      onDone?.()
    },
  })
  const decide = (given: 'continue' | 'stop') => (event: Event) => {
    event.preventDefault()
    answer.current = given
    submit(event)
  }
  return (
    <form
      class="judge"
      onSubmit={denied === undefined ? decide('continue') : stay}
      aria-label={`Judgment of ${name}`}
    >
      {instructions && (
        <div class="instructions">
          <PlainText text={instructions} />
        </div>
      )}
      {inputs.length > 0 && (
        <fieldset class="row" aria-label="Answer">
          {inputs.map((value) => (
            <label key={value} class="check">
              <input
                type="radio"
                name="judgment"
                checked={input === value}
                onChange={() => setInput(value)}
              />{' '}
              <Name text={value} />
            </label>
          ))}
        </fieldset>
      )}
      <label class="field">
        <span>Comment, kept with the run</span>
        <input
          value={comment}
          maxLength={2000}
          onInput={(event) => setComment(event.currentTarget.value)}
        />
      </label>
      <div class="row">
        <Button kind="primary" denied={denied} aria-busy={busy} onClick={decide('continue')}>
          Approve
        </Button>
        <Button kind="destructive" denied={reason} onClick={decide('stop')}>
          Reject
        </Button>
        {denied !== undefined && <Denied reason={denied} />}
      </div>
      {error !== undefined && <FailedAction error={error} />}
    </form>
  )
}

/** A blanked answer means that the role was refused; a failure of the read after it says nothing about it. @throws {ApiError} */
async function judge(
  { execution: id, stage }: JudgeProps['judgment'],
  changes: Schemas['StageUpdate'],
) {
  await patchStage({ id }, { id: stage }, changes)
  const current = await client
    .GET('/pipelines/{id}', { params: { path: { id } } })
    .catch(() => undefined)
  refreshMatching(id)
  const now = current?.stages.find((one) => one.id === stage)
  if (now?.status !== 'RUNNING' || now.context?.['judgmentStatus']) return
  throw new ApiError({
    status: 403,
    message: 'Your judgment was not accepted: you do not have a role that this judgment needs.',
  })
}
