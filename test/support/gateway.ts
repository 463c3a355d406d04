/** Starts a whole gateway inside the test's process, configured as an operator would, and stops it with the test. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import pino from 'pino'
import { type Config, loadConfig } from '../../packages/app/config/config.ts'
import type { Gateway } from '../../packages/app/gateway/context.ts'
import { createGateway } from '../../packages/app/gateway.ts'
import { serviceNames } from '../../packages/base/services/services.ts'
import type { BuiltInPlugin } from '../../packages/gateway/deck-plugins/deck-plugins.ts'
import type { ConnectionTimes } from '../../packages/gateway/http/connections.ts'
import { hashCost, usualCost } from '../../packages/gateway/login/form/password-hash.ts'
import { startInOwnThread, startInThisThread } from './back-end-thread.ts'
import { consoleDir } from './program.ts'
import { createFolder, removeFolder } from './temporary-folder.ts'
import type { TestEnd } from './test-end.ts'

// Hundreds of logins; that the usual cost is right, and bounds what is done at once, is tested with it.
Object.assign(hashCost, { memory: 64, passes: 1 })

/** Until the test ends, for tests of the cost itself, and beside a gateway in a process of its own. */
export function useUsualHashCost(t: TestContext): void {
  const lowered = { ...hashCost }
  Object.assign(hashCost, usualCost)
  t.after(() => Object.assign(hashCost, lowered))
}

/** Configuration keys of Gate, nested as in a `gate.yml`. */
export type GatewaySettings = Record<string, unknown> & { services?: Record<string, unknown> }

export interface GatewayOptions {
  /** Milliseconds since the epoch. */
  now?: () => number
  /** Services that are not named in the settings are embedded instead of switched off. */
  embedded?: boolean
  /** Embedded services get a worker thread, as outside of tests; needed where a test stalls or ends it. */
  ownThread?: boolean
  connectionTimes?: Partial<ConnectionTimes>
  /** What follows from the machine instead of the settings. */
  http?: Partial<Config['http']>
  /** A directory that outlives the gateway, for restart tests; by default a temporary one. */
  dataDir?: string
  /** Plug-ins of Deck that come with Fairlead. */
  builtInPlugins?: readonly BuiltInPlugin[]
  /** Receives the log lines. */
  log?: (line: Record<string, unknown>) => void
}

export interface RunningGateway {
  /** `http://127.0.0.1:port` and the context path. */
  url: string
  gateway: Gateway
  dataDir: string
  /** Stops before the end of the test. */
  stop(): Promise<void>
}

/** The base URL of a gateway that serves everyone as anonymous, unless the settings say otherwise. */
export async function startGateway(
  t: TestContext,
  settings: GatewaySettings,
  options: GatewayOptions = {},
): Promise<string> {
  return (await runGateway(t, settings, options)).url
}

export async function runGateway(
  t: TestEnd,
  settings: GatewaySettings,
  options: GatewayOptions = {},
): Promise<RunningGateway> {
  const home = createFolder('gateway')
  let gateway: Gateway | undefined
  const stop = async () => {
    const running = gateway
    gateway = undefined
    await running?.close()
  }
  // Before anything can fail: a start that is refused leaves no folder behind either.
  t.after(() => stop().finally(() => removeFolder(home)))
  const dataDir = options.dataDir ?? join(home, 'data')
  const { config } = await loadConfig({
    cwd: writeSettings(home, toConfiguration(settings, dataDir, options)),
    env: {},
    homeDir: home,
  })
  const started = await createGateway({
    config: { ...config, http: { ...config.http, ...options.http } },
    log: createTestLog(options.log),
    version: '0.0.0-test',
    connectionTimes: options.connectionTimes,
    now: options.now,
    startThread: options.ownThread ? startInOwnThread : startInThisThread,
    consoleDir,
    ...(options.builtInPlugins && { builtInPlugins: options.builtInPlugins }),
  })
  gateway = started
  const address = await started.listen()
  return { url: `${address}${config.http.origin.contextPath}`, gateway: started, dataDir, stop }
}

function toConfiguration(
  settings: GatewaySettings,
  dataDir: string,
  options: GatewayOptions,
): GatewaySettings {
  const off = options.embedded
    ? []
    : serviceNames.map((service) => [service, { enabled: false }] as const)
  return {
    data: { dir: dataDir },
    ...settings,
    http: withoutShedding(settings['http'] as GatewaySettings | undefined),
    server: { port: 0, address: '127.0.0.1', ...(settings['server'] as object | undefined) },
    // Tests give their users the roles that they are about.
    permissions: { 'built-in-roles': false, ...(settings['permissions'] as object | undefined) },
    anonymous: {
      enabled: !namesLoginMethod(settings),
      ...(settings['anonymous'] as object | undefined),
    },
    services: { ...Object.fromEntries(off), ...settings.services },
  }
}

/** A busy machine is not what a test is about, unless it says so. */
function withoutShedding(http: GatewaySettings | undefined): GatewaySettings {
  return {
    ...http,
    overload: { maxEventLoopDelay: '10m', ...(http?.['overload'] as object | undefined) },
  }
}

function namesLoginMethod(settings: GatewaySettings): boolean {
  return ['ldap', 'saml', 'x509', 'security', 'spring', 'google', 'header', 'fairlead'].some(
    (name) => name in settings,
  )
}

function writeSettings(home: string, settings: GatewaySettings): string {
  mkdirSync(join(home, 'config'), { recursive: true })
  writeFileSync(join(home, 'config', 'gate.yml'), JSON.stringify(settings))
  return home
}

function createTestLog(receive: GatewayOptions['log']): pino.Logger {
  if (receive === undefined) return pino({ level: 'silent' })
  return pino(
    { level: 'debug' },
    { write: (line: string) => receive(JSON.parse(line) as Record<string, unknown>) },
  )
}
