/** Shown above the unchanged page when the login has ended; the login runs in a tab of its own. */
import { to } from '../address.ts'
import { loginEnded } from '../api/login-state.ts'
import { returnFromLogin } from '../api/session.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'

export function LoginEndedDialog() {
  if (!loginEnded.value) return null
  const footer = (
    <>
      <Button onClick={() => void returnFromLogin()}>Try again</Button>
      <a class="button is-primary" href={to.login(to.signedIn())} target="_blank" rel="noopener opener">
        Sign in again
      </a>
    </>
  )
  return (
    <Dialog title="Your login has ended" footer={footer} class="is-narrow" closable={false}>
      <p>Sign in again; nothing on this page is lost.</p>
    </Dialog>
  )
}
