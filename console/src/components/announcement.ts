/** Said once and politely to screen readers: states of the open execution, counts of what waits. */
import { signal } from '@preact/signals'

export const announcement = signal('')
