/** Failures of what has no place of its own on the page: actions without a dialog, and those whose dialog was closed before they ended. */
import { signal } from '@preact/signals'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { refreshMatching } from '../api/live.ts'
import { words } from '../words.ts'
import { Icon } from './icon.tsx'
import { Name } from './name.tsx'
import { FailedAction } from './states.tsx'

interface Notice {
  readonly what: string
  readonly error: ApiError
}

const notices = signal<readonly Notice[]>([])
const maxNotices = 3

export function reportFailure(what: string, cause: unknown): void {
  const error = asApiError(cause)
  if (error.status === 403) refreshMatching('/auth/explain')
  notices.value = [...notices.peek().filter((notice) => notice.what !== what), { what, error }].slice(-maxNotices)
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
  notices.value = notices.peek().filter((notice) => notice.what !== what)
  void run()
    .catch((cause: unknown) => reportFailure(what, cause))
    .finally(() => running.delete(what))
}

/** Above the page, in view wherever it is scrolled to. */
export function Notices() {
  return (
    <div class="notices">
      {notices.value.map((notice) => (
        <FailedAction key={notice.what} error={notice.error} lead={<Name text={notice.what} max={120} />}>
          <button
            type="button"
            class="icon-button small"
            aria-label={words.close}
            onClick={() => {
              notices.value = notices.peek().filter((other) => other !== notice)
            }}
          >
            <Icon name="close" />
          </button>
        </FailedAction>
      ))}
    </div>
  )
}
