/** Whether the login of this page has ended; a file of its own, as calls and session both need it. */
import { signal } from '@preact/signals'

export const loginEnded = signal(false)
