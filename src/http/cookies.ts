/** Cookies of the answer to a request; what they hold is the business of those who set them. */
import type { RequestState } from './request-state.ts'

/** Adds a cookie to the answer, whichever way it is sent. */
export function setCookie(state: RequestState, cookie: string): void {
  const others = state.answerHeaders['set-cookie'] ?? []
  state.answerHeaders['set-cookie'] = [...(Array.isArray(others) ? others : [others]), cookie]
}
