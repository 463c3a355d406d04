/** Programs that print credentials, such as `aws eks get-token`. */
import { type ExecFileException, execFile } from 'node:child_process'
import { or, shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import type { ClientCertificate, ExecPlugin } from './cluster-access.ts'

interface PluginCredential {
  readonly token: string | undefined
  readonly certificate: ClientCertificate | undefined
  /** Milliseconds since the epoch; undefined: until the API server rejects it. */
  readonly expiresAtMs: number | undefined
}

const maxRunMs = 30_000
const maxOutputBytes = 1024 * 1024
const maxShownLength = 300

/** Variables that decide which program runs, or what code it loads. */
const loaderVariables =
  /^(?:PATH|IFS|ENV|BASH_ENV|SHELLOPTS|GCONV_PATH|(?:LD|DYLD|NODE|PYTHON|PERL|RUBY).*|.*_OPTIONS)$/

/**
 * Runs the program, without a shell.
 *
 * @param allowed Absolute paths and bare names
 * @throws {Error} whose message holds no secrets
 */
export async function runPlugin(
  plugin: ExecPlugin,
  allowed: readonly string[],
): Promise<PluginCredential> {
  const { command, apiVersion, env } = plugin
  if (!allowed.includes(command)) {
    throw new Error(
      `its kubeconfig runs ${command} for credentials, which is not allowed; add it to kubernetes.exec-commands`,
    )
  }
  const forbidden = Object.keys(env).find((name) => loaderVariables.test(name.toUpperCase()))
  if (forbidden !== undefined) {
    throw new Error(
      `its kubeconfig sets ${forbidden} for ${command}, which is not allowed; set it in the environment of Fairlead`,
    )
  }
  return toCredential(await run(plugin), command, apiVersion)
}

function run({
  command,
  args,
  env,
  installHint,
  apiVersion,
  clusterInfo,
}: ExecPlugin): Promise<string> {
  const spec = { interactive: false, ...(clusterInfo !== undefined && { cluster: clusterInfo }) }
  const request = JSON.stringify({ kind: 'ExecCredential', apiVersion, spec })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const options = {
    env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: request },
    timeout: maxRunMs,
    killSignal: 'SIGKILL' as const,
    maxBuffer: maxOutputBytes,
  }
  const child = execFile(command, [...args], options, (error, stdout, stderr) => {
    if (error === null) resolve(stdout)
    else reject(new Error(toMessage(command, error, stderr, installHint)))
  })
  child.stdin?.on('error', () => {}).end()
  return promise
}

/** What it prints as its result may be a secret; what it reports is not. */
function toMessage(
  command: string,
  error: ExecFileException,
  report: string,
  hint: string | undefined,
): string {
  if (error.code === 'ENOENT')
    return `${command}, which its kubeconfig runs for credentials, is not installed${hint ? `: ${hint.trim()}` : ''}`
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER')
    return `${command} printed more than ${maxOutputBytes} bytes`
  if (error.killed === true) return `${command} gave no credentials within ${maxRunMs / 1000} s`
  const shown = report.trim().replaceAll(/\s+/g, ' ').slice(0, maxShownLength)
  return `${command} gave no credentials (${typeof error.code === 'number' ? `exit code ${error.code}` : (error.code ?? 'killed')})${shown === '' ? '' : `: ${shown}`}`
}

const toPrinted = shape({
  kind: textOf,
  apiVersion: textOf,
  status: shape({
    token: textOf,
    clientCertificateData: textOf,
    clientKeyData: textOf,
    expirationTimestamp: or(textOf, ''),
  }),
})

function toCredential(output: string, command: string, apiVersion: string): PluginCredential {
  let json: unknown
  try {
    json = JSON.parse(output)
  } catch {
    throw new Error(`${command} did not print an ExecCredential`)
  }
  const printed = toPrinted(json)
  if (printed.kind !== 'ExecCredential' || printed.apiVersion !== apiVersion) {
    throw new Error(
      `${command} did not print an ExecCredential of ${apiVersion}; correct the apiVersion in the kubeconfig`,
    )
  }
  const { token, clientCertificateData: certificate, clientKeyData: key, ...rest } = printed.status
  const pair = certificate !== undefined && key !== undefined ? { certificate, key } : undefined
  if (token === undefined && pair === undefined)
    throw new Error(`${command} printed neither a token nor a client certificate with its key`)
  const expiresAtMs = Date.parse(rest.expirationTimestamp)
  return {
    token,
    certificate: pair,
    expiresAtMs: Number.isNaN(expiresAtMs) ? undefined : expiresAtMs,
  }
}
