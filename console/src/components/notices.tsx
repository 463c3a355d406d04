/**
 * What has no place of its own on the page: failures of actions without a dialog, and of those whose dialog was closed before they ended;
 * warnings about what was saved.
 */
import { signal } from '@preact/signals'
import { type ApiError, asApiError } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { Banner, IconButton } from './button.tsx'
import { PressedDenied } from './denied.tsx'
import { FailedAction } from './screen.tsx'
import { Name } from './text.tsx'

interface Notice {
  readonly what: string
  readonly error?: ApiError
  readonly warning?: string
}

/** Said once and politely to screen readers: states of the open execution, counts of what waits. */
export const announcement = signal('')

const notices = signal<readonly Notice[]>([])

export function reportFailure(what: string, cause: unknown): void {
  const error = asApiError(cause)
  if (error.status === 403) refreshMatching('/auth/explain')
  replace(what, { what, error })
}

/** @param warning Undefined where an earlier one no longer holds. */
export function reportWarning(what: string, warning: string | undefined): void {
  replace(what, warning === undefined ? undefined : { what, warning })
}

function replace(what: string, notice?: Notice) {
  const others = notices.peek().filter((one) => one.what !== what)
  notices.value = notice === undefined ? others : [...others, notice].slice(-3)
}

const running = new Set<string>()

/**
 * Does what needs no question, once at a time.
 *
 * @param what In words, with the object: "Resume run 8QK2".
 */
export function act(what: string, run: () => Promise<unknown>): void {
  if (running.has(what)) return
  running.add(what)
  replace(what)
  void run()
    .catch((cause: unknown) => reportFailure(what, cause))
    .finally(() => running.delete(what))
}

/** Above the page, in view wherever it is scrolled to. */
export function Notices() {
  return (
    <div class="notices">
      <PressedDenied />
      {notices.value.map(({ what, error, warning }) => {
        const lead = <Name text={what} max={120} />
        const close = <IconButton icon="close" label="Close" small onClick={() => replace(what)} />
        return error === undefined ? (
          <Banner key={what} tone="warning" actions={close}>
            {lead}: {warning}
          </Banner>
        ) : (
          <FailedAction key={what} error={error} lead={lead}>
            {close}
          </FailedAction>
        )
      })}
    </div>
  )
}
