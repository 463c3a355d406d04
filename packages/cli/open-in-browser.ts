/** Opens an address in the browser of the user, where there is one. */
import { spawn } from 'node:child_process'

const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Does nothing where no browser can be opened; the address is printed anyway. */
export function openInBrowser(url: string, env: NodeJS.ProcessEnv): void {
  const isRemote = env['SSH_CONNECTION'] !== undefined
  const hasScreen = process.platform !== 'linux' || env['DISPLAY'] || env['WAYLAND_DISPLAY']
  const [program = 'xdg-open', ...args] = env['BROWSER']
    ? [env['BROWSER']]
    : (openers[process.platform] ?? ['xdg-open'])
  if (!env['BROWSER'] && (isRemote || !hasScreen)) return
  const child = spawn(program, [...args, url], { detached: true, stdio: 'ignore' })
  child.on('error', () => {})
  child.unref()
}
