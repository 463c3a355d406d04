/** Starts the console: who is the user, then the screen of the address. */
import './styles/main.css'
import { render } from 'preact'
import { asApiError } from './api/api-error.ts'
import { loadUser, rememberUser } from './api/session.ts'
import { App } from './app.tsx'
import { ErrorState } from './components/states.tsx'
import { guardTexts } from './guard-texts.ts'
import { loadKept } from './model/recent.ts'
import { startClock } from './model/time.ts'

const root = document.getElementById('app')

async function start(): Promise<void> {
  if (root === null) return
  const show = () => {
    loadKept()
    render(<App />, root)
  }
  const isShown = rememberUser()
  if (isShown) show()
  try {
    if ((await loadUser()) && !isShown) show()
  } catch (cause) {
    // The screens say themselves what fails.
    if (isShown) return
    const error = asApiError(cause)
    document.title = 'The console cannot start'
    render(<ErrorState error={error} onRetry={() => location.reload()} />, root)
  }
}

guardTexts()
startClock()
void start()
