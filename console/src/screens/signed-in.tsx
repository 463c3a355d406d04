/** The end of a login that was started in a tab of its own. */
import { useEffect } from 'preact/hooks'
import { reportSignedIn } from '../api/session.ts'
import { EmptyState } from '../components/states.tsx'

export function SignedIn() {
  useEffect(reportSignedIn, [])
  return <EmptyState icon="check" text="You are signed in. You can close this tab." />
}
