/** What calls find out about the login of this page and the server; a file of its own, as calls, streams and reads need it. */
import { signal } from '@preact/signals'

export const loginEnded = signal(false)

/** Whether the last call reached the server. */
export const isReachable = signal(true)
