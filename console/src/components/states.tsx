/** Loading, empty, failed, forbidden and stale: what stands in a panel instead of, or above, its content. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { apiPath, applicationHere, to } from '../address.ts'
import type { ApiError } from '../api/api-error.ts'
import type { Live, Reading } from '../api/live.ts'
import { questionBehind, useRefusal } from '../api/rights.ts'
import { user } from '../api/session.ts'
import { formatClock, now } from '../model/time.ts'
import { describeError } from '../words.ts'
import { Banner } from './banner.tsx'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { Denied } from './denied.tsx'
import { Icon, type IconName } from './icon.tsx'
import { PageHead } from './page-head.tsx'

/** Nothing for 200 ms, then bars in the shape of rows; after 8 s a sentence. */
export function Loading({ rows = 4 }: { rows?: number }) {
  const [since] = useState(now.peek())
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 200)
    return () => clearTimeout(timer)
  }, [])
  const seconds = Math.round((now.value - since) / 1000)
  return (
    <div class="loading" aria-busy="true">
      <span class="visually-hidden">Loading</span>
      {isSlow && Array.from({ length: rows }, (_, index) => <div key={index} class="bar" />)}
      {seconds >= 8 && <p class="muted">{`Still waiting for Fairlead (${seconds} s).`}</p>}
    </div>
  )
}

/** @param children What makes the first one. */
export function EmptyState({ text, icon = 'box', children }: { text: string; icon?: IconName; children?: ComponentChildren }) {
  return (
    <div class="state">
      <Icon name={icon} size={20} />
      <p>{text}</p>
      {children !== undefined && <div class="row">{children}</div>}
    </div>
  )
}

export function ErrorState({ error, onRetry }: { error: ApiError; onRetry: () => void }) {
  const { title, advice } = describeError(error)
  const refusal = useRefusal(error)
  const isForbidden = error.status === 403
  const roles = user.value?.roles ?? []
  // Without a question behind it, the read itself.
  const operation = error.path === undefined ? undefined : `GET ${error.path.slice(apiPath.length)}`
  const asked = refusal === undefined ? undefined : questionBehind(refusal)
  return (
    <div class={`state is-failed ${isForbidden ? 'is-forbidden' : ''}`} role="alert">
      <Icon name={isForbidden ? 'lock' : 'warn'} size={20} />
      <p>
        <strong>{refusal ?? title}</strong> {advice}
      </p>
      {isForbidden && (
        <p class="muted">
          {roles.length === 0 ? 'You have no role.' : `Your roles: ${roles.join(', ')}.`}{' '}
          {refusal === undefined && 'Ask the owner of the application or an administrator for the missing permission.'}
        </p>
      )}
      <div class="row">
        <Button onClick={onRetry}>Try again</Button>
        {isForbidden && (
          <a class="button" href={to.access('explain', { ...(asked ?? { operation, application: applicationHere() }) })}>
            Explain my rights
          </a>
        )}
        <RequestId id={error.requestId} />
      </div>
    </div>
  )
}

interface FailedActionProps {
  readonly error: ApiError
  /** What failed, where the place does not say it. */
  readonly lead?: ComponentChildren
  /** Buttons. */
  readonly children?: ComponentChildren
}

/** In a dialog whose action has failed, whose fields stay; or above the page. */
export function FailedAction({ error, lead, children }: FailedActionProps) {
  const { title, advice } = describeError(error, 'change')
  const refusal = useRefusal(error)
  return (
    <Banner tone="failed" actions={children}>
      {lead !== undefined && <>{lead}: </>}
      <strong>{refusal === undefined ? title : <Denied reason={refusal} />}</strong> {advice} <RequestId id={error.requestId} />
    </Banner>
  )
}

function RequestId({ id }: { id: string | undefined }) {
  if (id === undefined) return null
  return (
    <span class="muted row">
      Request <code>{id.slice(0, 8)}…</code>
      <CopyButton text={id} label="Copy the request id" />
    </span>
  )
}

interface LoadedProps<Body> {
  readonly live: Live<Body>
  readonly rows?: number
  /** The heading while there is no body, for a screen that consists of this read. */
  readonly title?: string
  readonly children: (body: NonNullable<Body>) => ComponentChildren
  /** Where there is nothing: an empty list, or no body. */
  readonly empty?: ComponentChildren
}

/** Shows the body of a read in whatever state it is; the last good answer stays while newer reads fail. */
export function Loaded<Body>({ live, rows, title, children, empty }: LoadedProps<Body>) {
  const reading = live.reading.value
  const { body, error, readAtMs } = reading
  const hasBody = body !== undefined && body !== null
  if (hasBody && !(Array.isArray(body) && body.length === 0)) {
    return (
      <>
        <Stale reading={reading} />
        {children(body)}
      </>
    )
  }
  const isFailed = error !== undefined && !hasBody
  return (
    <>
      {title !== undefined && <PageHead tab={title} />}
      {isFailed && <ErrorState error={error} onRetry={() => live.refresh()} />}
      {!isFailed && (readAtMs === undefined ? <Loading rows={rows} /> : empty)}
    </>
  )
}

/** What has gone says so; after two other failed reads: how old the data is, and when the next read is. */
export function Stale({ reading: { error, failures, readAtMs, nextTryAtMs } }: { reading: Reading<unknown> }) {
  if (error === undefined || readAtMs === undefined) return null
  if (error.status !== 404 && failures < 2) return null
  const seconds = Math.max(0, Math.ceil(((nextTryAtMs ?? now.value) - now.value) / 1000))
  const clock = formatClock(readAtMs)
  return (
    <p class="stale" role="status">
      <Icon name="warn" />{' '}
      {error.status === 404
        ? `This was deleted, or you may no longer read it. The page shows what it read at ${clock}.`
        : `Data from ${clock}. ${describeError(error).title} Next try in ${seconds} s.`}
    </p>
  )
}
